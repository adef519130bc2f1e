"""Rows of what makes arrays, converts them, takes parts of them, and puts them in another order."""

SHAPE = """
transpose(x, axes: Axes | None = None): Axes in another order, by default reversed.
swapaxes(x, axis1: Axis, axis2: Axis): Two axes exchanged.
moveaxis(x, source: Axes, destination: Axes): Axes moved, the others kept in order.
expand_dims(x, axis: NewAxes): Axes of size 1 inserted.
squeeze(x, axis: Axes | None = None): Axes of size 1 removed.
broadcast_to(x, shape: Shape): Repeated along axes of size 1 up to a shape.
ravel(x): One axis, in row-major order.
tile(x, reps: Counts): The whole array repeated along axes.
flip(x, axis: Axes | None = None): The order along axes reversed.
roll(x, shift: Ints, axis: Axes | None = None): Elements moved along axes; what leaves at the end enters at the start.
rot90(x, k: Int = 1): The first two axes rotated by k times 90 degrees.
tril(x, k: Int = 0): Zero above the k-th diagonal.
triu(x, k: Int = 0): Zero below the k-th diagonal.
diag(x, k: Int = 0): The k-th diagonal of a matrix, or a matrix with that diagonal.
diagonal(x, offset: Int = 0, axis1: Axis = 0, axis2: Axis = 1): The offset-th diagonals of two axes.
"""

SEQUENCE = """
concatenate(arrays: Arrays, axis: Axis | None = 0): Joined along an axis.
stack(arrays: Arrays, axis: NewAxis = 0): Joined along a new axis.
vstack(arrays: Arrays): Join along the first axis; vectors become rows.
hstack(arrays: Arrays): Join along the second axis, or the only one.
dstack(arrays: Arrays): Join along the third axis, which is made where there is none.
meshgrid(*operands: MixedArrays, indexing: Indexing = 'xy') -> list[Array]: Coordinate matrices of coordinate vectors.
broadcast_arrays(*operands: MixedArrays) -> list[Array]: All brought to their common shape.
"""

FILLED = """
zeros(shape: Shape, dtype: DType | None = 'float32'): Filled with 0.
ones(shape: Shape, dtype: DType | None = 'float32'): Filled with 1.
eye(rows: Count, columns: Count | None = None, k: Int = 0, dtype: DType | None = 'float32'):
    Ones on the k-th diagonal, else zeros.
identity(rows: Count, dtype: DType | None = 'float32'): The identity matrix.
tri(rows: Count, columns: Count | None = None, k: Int = 0, dtype: DType | None = 'float32'):
    Ones at and below the k-th diagonal, else zeros.
"""

CONVERSION = """
asarray(object: Data, dtype: DType | None = None):
    An array; memory of the caller is copied, 64-bit types become 32-bit ones.
array(object: Data, dtype: DType | None = None): The same as asarray.
cast(x: Castable, dtype: DType | None): The values in another dtype.
full(shape: Shape, fill_value: Array, dtype: DType | None = None): Filled with a value.
zeros_like(x, dtype: DType | None = None): Zeros of the shape and dtype of x.
ones_like(x, dtype: DType | None = None): Ones of the shape and dtype of x.
full_like(x, fill_value: Array, dtype: DType | None = None): A value in the shape and dtype of x.
arange(start: Number, stop: Number | None = None, step: Number | None = None, dtype: DType | None = None):
    Evenly spaced values in [start, stop); one argument is the stop.
logspace(start: Real, stop: Real, num: Count = 50, endpoint: Flag = True, base: Real = 10.0,
    dtype: DType | None = 'float32'):
    Return so many values from base**start to base**stop, each the same times the last.
geomspace(start: Real, stop: Real, num: Count = 50, endpoint: Flag = True, dtype: DType | None = 'float32'):
    Return so many values from start to stop, each the same times the last.
saturate_cast(x, dtype: DType | None): Return the values in another dtype, limited to what that holds.
linspace(start: Number, stop: Number | None, num: Count = 50, endpoint: Flag = True, dtype: DType | None = 'float32'):
    So many evenly spaced values from start to stop.
to_numpy(x) -> np.ndarray[Any, Any]: The values as a NumPy array on the host; it may be read-only.
view_as_complex(x: Ordered): Make complex numbers of real and imaginary parts: (..., 2) -> (...).
view_as_real(x): Lay real and imaginary parts along a new last axis: (...) -> (..., 2).
shape(x) -> tuple[int, ...]: The sizes of the axes.
ndim(x) -> int: How many axes.
size(x) -> int: How many elements.
take(x, indices: Array, axis: Axis | None = None):
    Elements or slices by index; compiled, one outside gives nan unless checked.
take_along_axis(x, indices: Array, axis: Axis):
    Elements by index along one axis; compiled, others give nan unless checked.
"""

VALUES = """
nonzero(x) -> tuple[Array, ...]: Indices of the values that are not zero, one array for each axis; eager only.
unique(x): The sorted distinct values; eager only.
bincount(x, length: Count | None = None):
    How often each integer from 0 occurs; compiled it needs length, and others are dropped.
"""

INDEXING = """
repeat(x, repeats: Counts, axis: Axis | None = None):
    Every element repeated, as often as one number says, or each as its own.
reshape(x, shape: NewShape): The same elements in another shape; one size may be -1.
gather_nd(x, indices: Array):
    Elements or slices by index tuples; compiled, one outside gives nan unless checked.
one_hot(indices: Array, num_classes: Count, axis: NewAxis = -1, dtype: DType | None = 'float32'):
    1 at the index, else 0; others are dropped if unchecked.
scatter_add(x: Numeric, indices: Array, updates: Filling):
    x with updates[i] added to row indices[i]; others are dropped, if compiled unchecked.
scatter(indices: Array, values: Operand, shape: Shape):
    Put values at index tuples into zeros; those at one place add up, others are dropped, if compiled unchecked.
scatter_update(x, indices: Array, updates: Filling):
    Return x with the elements or slices at index tuples replaced; others are dropped, if compiled unchecked.
segment_sum(x, segment_ids: Array, num_segments: Count):
    Sums of rows by segment id; others are dropped, if compiled unchecked.
segment_mean(x, segment_ids: Array, num_segments: Count):
    Take the means of rows by segment id, 0 where there are none; others are dropped, if compiled unchecked.
segment_max(x: Ordered, segment_ids: Array, num_segments: Count):
    Take the largest of rows by segment id, -inf or the least integer where there are none.
segment_min(x: Ordered, segment_ids: Array, num_segments: Count):
    Take the smallest of rows by segment id, inf or the largest integer where there are none.
segment_softmax(x, segment_ids: Array, num_segments: Count):
    Compute exp(x) normalised to sum 1 over the rows of each segment; its shape is that of x.
multi_hot(indices: Array, num_classes: Count, axis: NewAxis = -1, dtype: DType | None = 'float32'):
    Return 1 at each index along the last axis of indices, else 0: (..., n) -> (..., num_classes).
in_top_k(targets: Array, predictions: Ordered, k: Size):
    Return True where the class of a target is among the k with the largest predictions.
append(x, values: SameDType, axis: Axis | None = None): Join values to x along an axis, or both flattened.
unravel_index(indices: Array, shape: Shape) -> tuple[Array, ...]:
    Turn places in a flattened array into indices for each axis of a shape; compiled, others give the sizes.
select(conditions: MixedArrays, choices: Arrays, default: Constant = 0.0):
    Return the elements of the first choice whose condition holds, else the default.
rearrange(x, pattern: Text, **sizes: Size):
    Split, order and merge axes by a pattern: rearrange(x, 'b (h p) c -> b h (p c)', p=2).
slice(x, begin: Array, shape: Shape):
    The block of a shape at begin; compiled, one that leaves x is moved inside unless checked.
slice_update(x, begin: Array, updates: Filling):
    x with the block at begin replaced; compiled, it is moved inside unless checked.
split(x, sections: Ints, axis: Axis = 0) -> list[Array]: Equal parts, or parts cut at indices.
unstack(x, axis: Axis = 0) -> tuple[Array, ...]: The slices along an axis, which disappears.
pad(x, pad_width: Borders, mode: Text = 'constant', constant_values: Constant = 0.0):
    Borders added: constant, edge, reflect, symmetric or wrap.
sort(x, axis: Axis = -1, descending: Flag = False): Sorted along an axis.
argsort(x, axis: Axis = -1, descending: Flag = False): Indices that would sort; equal values keep their order.
top_k(x: Ordered, k: Int) -> tuple[Array, Array]: The k largest values of the last axis, in order, and their indices.
searchsorted(x, values: SameDType, side: Side = 'left'): Where values would be inserted into the sorted vector x.
isin(x, values: SameDType): True where an element of x is among the values.
stop_gradient(x): The same values, constant to differentiation.
"""
