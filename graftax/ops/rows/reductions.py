"""Rows of functions over axes."""

PLAIN = """
sum(x, axis: Axes | None = None, keepdims: Flag = False): Sum over axes.
mean(x, axis: Axes | None = None, keepdims: Flag = False): Mean over axes.
max(x, axis: Axes | None = None, keepdims: Flag = False): Largest value over axes.
min(x, axis: Axes | None = None, keepdims: Flag = False): Smallest value over axes.
prod(x, axis: Axes | None = None, keepdims: Flag = False): Product over axes.
any(x, axis: Axes | None = None, keepdims: Flag = False): True if one value is, over axes.
all(x, axis: Axes | None = None, keepdims: Flag = False): True if all values are, over axes.
argmax(x: Ordered, axis: Axis | None = None, keepdims: Flag = False): Index of the largest value, the first of equals.
argmin(x: Ordered, axis: Axis | None = None, keepdims: Flag = False): Index of the smallest value, the first of equals.
count_nonzero(x, axis: Axes | None = None, keepdims: Flag = False): How many values are not zero.
"""

FUSED = """
var(x, axis: Axes | None = None, ddof: Count = 0, keepdims: Flag = False):
    Variance over axes; the sum of squares is divided by n - ddof.
std(x, axis: Axes | None = None, ddof: Count = 0, keepdims: Flag = False): Standard deviation over axes.
cumsum(x, axis: Axis | None = None): Running sum along an axis, or of the flattened array.
cumprod(x, axis: Axis | None = None): Running product along an axis, or of the flattened array.
median(x, axis: Axes | None = None, keepdims: Flag = False): Median over axes.
quantile(x, q: Reals, axis: Axes | None = None, keepdims: Flag = False): Quantiles over axes, interpolated linearly.
softmax(x, axis: Axes | None = -1): exp(x) normalised to sum 1 over axes; 0 where everything is -inf.
log_softmax(x, axis: Axes | None = -1): log(softmax(x)) without overflow.
logsumexp(x, axis: Axes | None = None, keepdims: Flag = False): log(sum(exp(x))) without overflow.
norm(x, ord: Real = 2, axis: Axes | None = None, keepdims: Flag = False):
    Vector norm over axes, of order p > 0 or inf; its gradient at 0 is 0.
moments(x, axes: Axes | None = None, keepdims: Flag = False) -> tuple[Array, Array]:
    Mean and variance, half precision taken in float32.
standardize(x, axis: Axes | None = -1, epsilon: NotNegative = 0.001):
    (x - mean) / sqrt(variance + epsilon) over axes, computed in float32 at least.
"""
