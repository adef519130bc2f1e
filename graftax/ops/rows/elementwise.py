"""Rows of functions of each element, of one array and of two; the section says where the function comes from."""

UNARY = """
abs(x): Compute the absolute value.
negative(x): Change the sign.
positive(x): Return the same values.
sign(x): Return the sign as -1, 0 or 1.
exp(x): Compute e to the power of x.
exp2(x): Compute 2 to the power of x.
expm1(x): Compute exp(x) - 1, exact near 0.
log(x): Compute the natural logarithm; nan for negative values.
log2(x): Compute the logarithm to base 2.
log10(x): Compute the logarithm to base 10.
log1p(x): Compute log(1 + x), exact near 0.
sqrt(x): Compute the square root; nan for negative values.
cbrt(x): Compute the cube root.
square(x): Compute x * x.
reciprocal(x): Compute 1 / x.
sin(x): Compute the sine of an angle in radians.
cos(x): Compute the cosine of an angle in radians.
tan(x): Compute the tangent of an angle in radians.
arcsin(x): Compute the inverse sine, in radians.
arccos(x): Compute the inverse cosine, in radians.
arctan(x): Compute the inverse tangent, in radians.
sinh(x): Compute the hyperbolic sine.
cosh(x): Compute the hyperbolic cosine.
tanh(x): Compute the hyperbolic tangent.
arcsinh(x): Compute the inverse hyperbolic sine.
arccosh(x): Compute the inverse hyperbolic cosine.
arctanh(x): Compute the inverse hyperbolic tangent.
floor(x): Round down to an integer.
ceil(x): Round up to an integer.
trunc(x): Round towards 0 to an integer.
round(x: Numeric, decimals: Int = 0): Round to so many decimals; halves go to the even neighbour.
isfinite(x): Return True where the value is neither infinite nor nan.
isinf(x): Return True where the value is infinite.
isnan(x): Return True where the value is nan.
logical_not(x): Return True where x is zero or False.
bitwise_not(x): Flip every bit.
conj(x): Compute the complex conjugate.
real(x): Return the real part.
imag(x): Return the imaginary part.
nan_to_num(x, nan: Real = 0.0, posinf: Real | None = None, neginf: Real | None = None):
    Replace nan and infinities by finite numbers.
"""

BINARY = """
floor_divide(x, y): Compute x / y rounded down; an integer divided by 0 raises.
remainder(x, y): Compute what floor_divide leaves, with the sign of y; an integer divided by 0 raises.
copysign(x, y): Return the magnitude of x with the sign of y.
equal(x, y): Return True where x == y.
not_equal(x, y): Return True where x != y.
less(x, y): Return True where x < y.
less_equal(x, y): Return True where x <= y.
greater(x, y): Return True where x > y.
greater_equal(x, y): Return True where x >= y.
logical_and(x, y): Return True where both are true.
logical_or(x, y): Return True where at least one is true.
logical_xor(x, y): Return True where exactly one is true.
bitwise_and(x, y): Return the bits that are set in both.
bitwise_or(x, y): Return the bits that are set in at least one.
bitwise_xor(x, y): Return the bits that are set in exactly one.
left_shift(x, y): Move the bits of x to the left by y places.
right_shift(x, y): Move the bits of x to the right by y places; the sign is kept.
isclose(x, y, rtol: NotNegative = 1e-05, atol: NotNegative = 1e-08, equal_nan: Flag = False):
    Return True where abs(x - y) <= atol + rtol * abs(y).
allclose(x, y, rtol: NotNegative = 1e-05, atol: NotNegative = 1e-08, equal_nan: Flag = False):
    Return True if abs(x - y) <= atol + rtol * abs(y) everywhere.
array_equal(x, y): Return True if shapes and values are equal.
clip(x: Ordered, min: Ordered | None = None, max: Ordered | None = None): Limit x to [min, max].
"""

COMPOSED = """
add(x, y): Compute x + y.
subtract(x, y): Compute x - y.
multiply(x, y): Compute x * y.
maximum(x: Ordered, y: Ordered): Return the larger of the two; nan if one is nan; equal values share the gradient.
minimum(x: Ordered, y: Ordered): Return the smaller of the two; nan if one is nan; equal values share the gradient.
where(condition: Array, x, y):
    Return x where the condition holds, else y; both branches are computed and differentiated.
"""

POWER = """
power(x, y): Compute x to the power of y; the slope of x**0 is 0 at 0, too.
"""

QUOTIENTS = """
divide(x, y): Compute x / y; integers give floats, and a division by 0 gives inf or nan.
hypot(x: Ordered, y: Ordered): Compute sqrt(x**2 + y**2) without overflow; its gradient at the origin is 0.5 for each.
arctan2(x: Ordered, y: Ordered): Compute the angle of the point (y, x), in radians; its gradient at the origin is 0.
logaddexp(x: Ordered, y: Ordered):
    Compute log(exp(x) + exp(y)) without overflow; its gradient is 0 where both are -inf.
divide_no_nan(x, y): Compute x / y, and 0 where y is 0; the gradient is 0 there, too.
"""

STABLE = """
erf(x): Compute the Gauss error function.
sigmoid(x): Compute 1 / (1 + exp(-x)) without overflow.
rsqrt(x): Compute 1 / sqrt(x).
softplus(x): Compute log(1 + exp(x)) without overflow.
log_sigmoid(x): Compute log(sigmoid(x)) without overflow.
xlogy(x, y): Compute x * log(y), and 0 where x is 0.
squared_difference(x, y): Compute (x - y)**2.
"""

SPECIAL = """
angle(x): Compute the angle of a complex number, in radians; its gradient at 0 is 0.
erfc(x): Compute 1 - erf(x), exact where erf(x) is near 1.
erfinv(x): Compute the inverse of erf; infinite at -1 and 1.
lgamma(x): Compute the logarithm of the absolute value of the gamma function.
digamma(x): Compute the slope of lgamma.
logit(x): Compute log(x / (1 - x)), the inverse of sigmoid.
signbit(x: Ordered): Return True where the sign is negative, that of -0.0 included.
fmod(x: Numeric, y): Return what a division rounded towards 0 leaves, with the sign of x; integers by 0 raise.
gcd(x, y): Return the greatest common divisor of integers.
lcm(x, y): Return the least common multiple of integers.
heaviside(x: Numeric, y): Return 0 where x is negative, 1 where it is positive, and y where it is 0.
logaddexp2(x: Ordered, y: Ordered): Compute log2(2**x + 2**y) without overflow.
sinc(x): Compute sin(pi x) / (pi x), and 1 where x is 0.
deg2rad(x): Convert degrees to radians.
rad2deg(x): Convert radians to degrees.
isposinf(x: Ordered): Return True where the value is positive infinity.
isneginf(x: Ordered): Return True where the value is negative infinity.
"""

ACTIVATIONS = """
relu(x: Ordered): Compute max(x, 0); its slope at 0 is 0.
relu6(x: Ordered): Compute min(max(x, 0), 6); its slope at 0 and at 6 is 0.
leaky_relu(x: Ordered, negative_slope: Real = 0.2): Compute x where positive, else negative_slope * x; slope 1 at 0.
elu(x: Ordered, alpha: Real = 1.0): Compute x where positive, else alpha * (exp(x) - 1).
celu(x: Ordered, alpha: Real = 1.0): Compute max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0), smooth for every alpha.
selu(x: Ordered): Compute elu scaled so that layers keep mean 0 and variance 1.
gelu(x: Ordered, approximate: Flag = False):
    Compute x times the normal distribution function at x, or with approximate=True its form with tanh.
silu(x: Ordered): Compute x * sigmoid(x), also called swish.
mish(x: Ordered): Compute x * tanh(softplus(x)).
glu(x: Ordered, axis: Axis = -1): Multiply the first half of an axis by the sigmoid of the second half.
softsign(x: Ordered): Compute x / (1 + abs(x)).
hard_sigmoid(x: Ordered): Compute x / 6 + 1/2 limited to [0, 1].
hard_silu(x: Ordered): Compute x * hard_sigmoid(x), also called hard_swish.
hard_tanh(x: Ordered): Limit x to [-1, 1]; its slope at both ends is 1.
hard_shrink(x: Ordered, threshold: NotNegative = 0.5): Set to 0 what is within [-threshold, threshold].
soft_shrink(x: Ordered, threshold: NotNegative = 0.5): Move x towards 0 by the threshold, at most to 0.
tanh_shrink(x: Ordered): Compute x - tanh(x).
threshold(x: Ordered, threshold: Real, default_value: Real): Return x where it is above the threshold, else the default.
squareplus(x: Ordered, b: NotNegative = 4.0): Compute (x + sqrt(x**2 + b)) / 2, a smooth relu.
sparse_plus(x: Ordered): Compute 0 below -1, x above 1, and (x + 1)**2 / 4 between them.
sparse_sigmoid(x: Ordered): Compute 0 below -1, 1 above 1, and (x + 1) / 2 between them.
sparsemax(x: Ordered, axis: Axis = -1):
    Project onto the probability simplex along an axis: like softmax, but with zeros.
"""
