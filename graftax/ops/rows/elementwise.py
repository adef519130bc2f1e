"""Rows of functions of each element, of one array and of two; the section says where the function comes from."""

UNARY = """
abs(x): Absolute value.
negative(x): Numerical negative.
positive(x): The same values.
sign(x): -1, 0 or 1 by the sign.
exp(x): e to the power of x.
exp2(x): 2 to the power of x.
expm1(x): exp(x) - 1, exact near 0.
log(x): Natural logarithm; nan for negative values.
log2(x): Logarithm to base 2.
log10(x): Logarithm to base 10.
log1p(x): log(1 + x), exact near 0.
sqrt(x): Square root; nan for negative values.
cbrt(x): Cube root.
square(x): x * x.
reciprocal(x): 1 / x.
sin(x): Sine of an angle in radians.
cos(x): Cosine of an angle in radians.
tan(x): Tangent of an angle in radians.
arcsin(x): Inverse sine, in radians.
arccos(x): Inverse cosine, in radians.
arctan(x): Inverse tangent, in radians.
sinh(x): Hyperbolic sine.
cosh(x): Hyperbolic cosine.
tanh(x): Hyperbolic tangent.
arcsinh(x): Inverse hyperbolic sine.
arccosh(x): Inverse hyperbolic cosine.
arctanh(x): Inverse hyperbolic tangent.
floor(x): Largest integer that is not above x.
ceil(x): Smallest integer that is not below x.
trunc(x): The integer next to x on the side of 0.
round(x: Numeric, decimals: Int = 0): Nearest number with so many decimals; halves go to the even neighbour.
isfinite(x): True where neither infinite nor nan.
isinf(x): True where infinite.
isnan(x): True where not a number.
logical_not(x): True where x is zero or False.
bitwise_not(x): Every bit flipped.
conj(x): Complex conjugate.
real(x): Real part.
imag(x): Imaginary part.
angle(x): Angle of a complex number, in radians.
nan_to_num(x, nan: Real = 0.0, posinf: Real | None = None, neginf: Real | None = None):
    Replaces nan and infinities by finite numbers.
"""

BINARY = """
add(x, y): Sum.
subtract(x, y): Difference.
multiply(x, y): Product.
divide(x, y): Quotient; integers give floats, and a division by 0 gives inf or nan.
floor_divide(x, y): Quotient rounded down; an integer divided by 0 raises.
remainder(x, y): What floor_divide leaves, with the sign of y; an integer divided by 0 raises.
power(x, y): x to the power of y.
maximum(x: Ordered, y: Ordered): The larger of the two; nan wins, and ties share the gradient.
minimum(x: Ordered, y: Ordered): The smaller of the two; nan wins, and ties share the gradient.
arctan2(x: Ordered, y: Ordered): Angle of the point (y, x), in radians.
hypot(x: Ordered, y: Ordered): sqrt(x**2 + y**2).
logaddexp(x: Ordered, y: Ordered): log(exp(x) + exp(y)) without overflow.
copysign(x, y): The magnitude of x with the sign of y.
equal(x, y): x == y.
not_equal(x, y): x != y.
less(x, y): x < y.
less_equal(x, y): x <= y.
greater(x, y): x > y.
greater_equal(x, y): x >= y.
logical_and(x, y): True where both are.
logical_or(x, y): True where one is.
logical_xor(x, y): True where exactly one is.
bitwise_and(x, y): Bits set in both.
bitwise_or(x, y): Bits set in one.
bitwise_xor(x, y): Bits set in exactly one.
left_shift(x, y): Bits moved y places up.
right_shift(x, y): Bits moved y places down, the sign kept.
isclose(x, y, rtol: NotNegative = 1e-05, atol: NotNegative = 1e-08, equal_nan: Flag = False):
    True where abs(x - y) <= atol + rtol * abs(y).
allclose(x, y, rtol: NotNegative = 1e-05, atol: NotNegative = 1e-08, equal_nan: Flag = False):
    True if abs(x - y) <= atol + rtol * abs(y) everywhere.
array_equal(x, y): True if shapes and values are equal.
clip(x: Ordered, min: Ordered | None = None, max: Ordered | None = None): x limited to [min, max].
where(condition: Array, x, y): x where the condition holds, else y; both branches are computed and differentiated.
"""

FUSED = """
erf(x): The Gauss error function.
sigmoid(x): 1 / (1 + exp(-x)) without overflow.
rsqrt(x): 1 / sqrt(x).
softplus(x): log(1 + exp(x)) without overflow.
log_sigmoid(x): log(sigmoid(x)) without overflow.
divide_no_nan(x, y): x / y, and 0 where y is 0, in the gradient too.
xlogy(x, y): x * log(y), and 0 where x is 0.
squared_difference(x, y): (x - y)**2.
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
    Compute x times the normal distribution function at x, or with approximate its form with tanh.
silu(x: Ordered): Compute x * sigmoid(x), also called swish.
mish(x: Ordered): Compute x * tanh(softplus(x)).
glu(x: Ordered, axis: Axis = -1): Compute the first half of an axis times the sigmoid of the second half.
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
