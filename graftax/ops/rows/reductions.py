"""Rows of functions over axes."""

PLAIN = """
sum(x, axis: Axes | None = None, keepdims: Flag = False): Compute the sum over axes.
mean(x, axis: Axes | None = None, keepdims: Flag = False): Compute the mean over axes.
max(x, axis: Axes | None = None, keepdims: Flag = False): Return the largest value over axes.
min(x, axis: Axes | None = None, keepdims: Flag = False): Return the smallest value over axes.
prod(x, axis: Axes | None = None, keepdims: Flag = False): Compute the product over axes.
any(x, axis: Axes | None = None, keepdims: Flag = False): Return True if at least one value over axes is true.
all(x, axis: Axes | None = None, keepdims: Flag = False): Return True if all values over axes are true.
argmax(x: Ordered, axis: Axis | None = None, keepdims: Flag = False):
    Return the index of the largest value, the first one if several are equal.
argmin(x: Ordered, axis: Axis | None = None, keepdims: Flag = False):
    Return the index of the smallest value, the first one if several are equal.
count_nonzero(x, axis: Axes | None = None, keepdims: Flag = False): Count the values that are not zero.
"""

FUSED = """
var(x, axis: Axes | None = None, ddof: Count = 0, keepdims: Flag = False):
    Compute the variance over axes; the sum of squares is divided by n - ddof.
std(x, axis: Axes | None = None, ddof: Count = 0, keepdims: Flag = False):
    Compute the standard deviation over axes; the sum of squares is divided by n - ddof.
cumsum(x, axis: Axis | None = None): Compute the running sum along an axis, or of the flattened array.
cumprod(x, axis: Axis | None = None): Compute the running product along an axis, or of the flattened array.
median(x, axis: Axes | None = None, keepdims: Flag = False): Compute the median over axes.
quantile(x, q: Reals, axis: Axes | None = None, keepdims: Flag = False):
    Compute quantiles over axes, interpolated linearly.
softmax(x, axis: Axes | None = -1): Compute exp(x) normalised to sum 1 over axes; 0 where everything is -inf.
log_softmax(x, axis: Axes | None = -1): Compute log(softmax(x)) without overflow.
logsumexp(x, axis: Axes | None = None, keepdims: Flag = False): Compute log(sum(exp(x))) without overflow.
norm(x, ord: Real = 2, axis: Axes | None = None, keepdims: Flag = False):
    Compute the vector norm over axes, of order p > 0 or inf; its gradient at 0 is 0.
moments(x, axes: Axes | None = None, keepdims: Flag = False) -> tuple[Array, Array]:
    Compute mean and variance over axes; half precision is computed in float32.
standardize(x, axis: Axes | None = -1, epsilon: NotNegative = 0.001):
    Compute (x - mean) / sqrt(variance + epsilon) over axes, in float32 at least.
"""

NAN = """
nansum(x, axis: Axes | None = None, keepdims: Flag = False): Compute the sum over axes; nan counts as 0.
nanprod(x, axis: Axes | None = None, keepdims: Flag = False): Compute the product over axes; nan counts as 1.
nanmean(x, axis: Axes | None = None, keepdims: Flag = False): Take the mean over axes of what is not nan.
nanvar(x, axis: Axes | None = None, ddof: Count = 0, keepdims: Flag = False):
    Compute the variance over axes of what is not nan; the sum of squares is divided by their number minus ddof.
nanstd(x, axis: Axes | None = None, ddof: Count = 0, keepdims: Flag = False):
    Take the standard deviation over axes of what is not nan.
nanmax(x: Ordered, axis: Axes | None = None, keepdims: Flag = False):
    Return the largest value over axes that is not nan; nan where all are nan.
nanmin(x: Ordered, axis: Axes | None = None, keepdims: Flag = False):
    Return the smallest value over axes that is not nan; nan where all are nan.
nanargmax(x: Ordered, axis: Axis | None = None, keepdims: Flag = False):
    Return the index of the largest value that is not nan; -1, which no op accepts as an index, where all are nan.
nanargmin(x: Ordered, axis: Axis | None = None, keepdims: Flag = False):
    Return the index of the smallest value that is not nan; -1, which no op accepts as an index, where all are nan.
nanmedian(x, axis: Axes | None = None, keepdims: Flag = False): Take the median over axes of what is not nan.
nanquantile(x, q: Reals, axis: Axes | None = None, keepdims: Flag = False):
    Take quantiles over axes of what is not nan, interpolated linearly.
nanpercentile(x, q: Reals, axis: Axes | None = None, keepdims: Flag = False):
    Take percentiles, from 0 to 100, over axes of what is not nan.
nancumsum(x, axis: Axis | None = None):
    Compute the running sum along an axis, or of the flattened array; nan counts as 0.
nancumprod(x, axis: Axis | None = None):
    Compute the running product along an axis, or of the flattened array; nan counts as 1.
"""

STATISTICS = """
average(x, axis: Axes | None = None, weights: SameDType | None = None, keepdims: Flag = False):
    Take the mean over axes, weighted by an array of the shape of x or with one number for each place on the axis.
percentile(x, q: Reals, axis: Axes | None = None, keepdims: Flag = False):
    Take percentiles, from 0 to 100, over axes, interpolated linearly.
ptp(x: Ordered, axis: Axes | None = None, keepdims: Flag = False):
    Subtract the smallest value over axes from the largest.
cov(x, ddof: Count = 1): Compute the covariance of the rows of a matrix, each of which is one variable.
corrcoef(x): Compute the correlation of the rows of a matrix, each of which is one variable.
diff(x, n: Count = 1, axis: Axis = -1): Subtract each value from the next along an axis, n times.
trapezoid(y: Operand, x: SameDType | None = None, dx: Real = 1.0, axis: Axis = -1):
    Integrate along an axis by the trapezoidal rule, at the places x, or at a distance of dx.
histogram(x: Ordered, bins: Size = 10, range: Reals | None = None) -> tuple[Array, Array]:
    Count values in bins of equal width, between two numbers or the smallest and the largest value; return counts and
    edges.
digitize(x: Ordered, bins: SameDType):
    Return the index of the bin of each value: how many of the ascending edges are not above it.
"""
