"""Rows of what makes arrays, converts them, takes parts of them, and puts them in another order."""

SHAPE = """
transpose(x, axes: Axes | None = None): Change the order of the axes, by default to the reverse.
swapaxes(x, axis1: Axis, axis2: Axis): Exchange two axes.
moveaxis(x, source: Axes, destination: Axes): Move axes; the others keep their order.
expand_dims(x, axis: NewAxes): Insert axes of size 1.
squeeze(x, axis: Axes | None = None): Remove axes of size 1.
ravel(x): Flatten to one axis, in row-major order.
flip(x, axis: Axes | None = None): Reverse the order along axes.
roll(x, shift: Ints, axis: Axes | None = None):
    Move elements along axes; those moved beyond the end come back at the start.
rot90(x, k: Int = 1, axes: Axes = (0, 1)): Rotate by k times 90 degrees, from the first of two axes to the second.
tril(x, k: Int = 0): Set elements above the k-th diagonal to zero.
triu(x, k: Int = 0): Set elements below the k-th diagonal to zero.
diag(x, k: Int = 0): Return the k-th diagonal of a matrix, or a matrix with that diagonal.
diagonal(x, offset: Int = 0, axis1: Axis = 0, axis2: Axis = 1): Return the offset-th diagonals of two axes.
"""

SEQUENCE = """
concatenate(arrays: Arrays, axis: Axis | None = 0): Join arrays along an axis.
stack(arrays: Arrays, axis: NewAxis = 0): Join arrays along a new axis.
vstack(arrays: Arrays): Join arrays along the first axis; vectors become rows.
hstack(arrays: Arrays): Join arrays along the second axis, or the only one.
dstack(arrays: Arrays): Join arrays along the third axis, which is added where it is missing.
meshgrid(*operands: MixedArrays, indexing: Indexing = 'xy') -> list[Array]:
    Return coordinate matrices of coordinate vectors.
broadcast_arrays(*operands: MixedArrays) -> list[Array]: Broadcast all arrays to their common shape.
"""

FILLED = """
zeros(shape: Shape, dtype: DType | None = 'float32'): Return an array filled with 0.
ones(shape: Shape, dtype: DType | None = 'float32'): Return an array filled with 1.
eye(rows: Count, columns: Count | None = None, k: Int = 0, dtype: DType | None = 'float32'):
    Return ones on the k-th diagonal, and zeros elsewhere.
identity(rows: Count, dtype: DType | None = 'float32'): Return the identity matrix.
tri(rows: Count, columns: Count | None = None, k: Int = 0, dtype: DType | None = 'float32'):
    Return ones at and below the k-th diagonal, and zeros elsewhere.
"""

CONVERSION = """
asarray(object: Data, dtype: DType | None = None):
    Make an array; memory of the caller is copied, and 64-bit types become 32-bit ones.
array(object: Data, dtype: DType | None = None): Make an array, as asarray does.
cast(x: Castable, dtype: DType | None): Convert the values to another dtype; those of a Variable as it stores them.
full(shape: Shape, fill_value: Array, dtype: DType | None = None): Return an array filled with a value.
zeros_like(x, dtype: DType | None = None): Return zeros of the shape and dtype of x.
ones_like(x, dtype: DType | None = None): Return ones of the shape and dtype of x.
full_like(x, fill_value: Array, dtype: DType | None = None):
    Return an array filled with a value, of the shape and dtype of x.
arange(start: Number, stop: Number | None = None, step: Number | None = None, dtype: DType | None = None):
    Return evenly spaced values in [start, stop); a single argument is the stop.
logspace(start: Real, stop: Real, num: Count = 50, endpoint: Flag = True, base: Real = 10.0,
    dtype: DType | None = 'float32'):
    Return so many values from base**start to base**stop, each the same multiple of the one before.
geomspace(start: Real, stop: Real, num: Count = 50, endpoint: Flag = True, dtype: DType | None = 'float32'):
    Return so many values from start to stop, each the same multiple of the one before.
saturate_cast(x, dtype: DType | None): Convert the values to another dtype, limited to the range of that dtype.
linspace(start: Number, stop: Number | None, num: Count = 50, endpoint: Flag = True, dtype: DType | None = 'float32'):
    Return so many evenly spaced values from start to stop.
"""

COMPLEX_PAIRS = """
view_as_complex(x: Ordered): Make complex numbers of real and imaginary parts: (..., 2) -> (...).
view_as_real(x): Lay real and imaginary parts along a new last axis: (...) -> (..., 2).
"""

TAKING = """
take(x, indices: Array, axis: Axis | None = None):
    Take elements or slices by index; in compiled code without checks, an index out of range gives nan.
take_along_axis(x, indices: Array, axis: Axis):
    Take elements by index along one axis; in compiled code without checks, an index out of range gives nan.
"""

VALUES = """
to_numpy(x) -> np.ndarray[Any, Any]: Return the values as a NumPy array on the host; it may be read-only.
shape(x) -> tuple[int, ...]: Return the sizes of the axes.
ndim(x) -> int: Return the number of axes.
size(x) -> int: Return the number of elements.
nonzero(x) -> tuple[Array, ...]:
    Return the indices of the values that are not zero, one array for each axis; eager only.
unique(x): Return the sorted distinct values; eager only.
bincount(x, length: Count | None = None):
    Count how often each integer from 0 occurs; compiled code needs length and ignores integers out of range.
"""

INDEXING = """
gather_nd(x, indices: Array):
    Take elements or slices by index tuples; in compiled code without checks, an index out of range gives nan.
one_hot(indices: Array, num_classes: Count, axis: NewAxis = -1, dtype: DType | None = 'float32'):
    Return 1 at the index and 0 elsewhere; in compiled code without checks, an index out of range gives only 0.
slice(x, begin: Array, shape: Shape):
    Return the block of a shape that starts at begin; in compiled code without checks, a block that leaves x is moved
    inside.
slice_update(x, begin: Array, updates: Filling):
    Replace the block of x that starts at begin; in compiled code without checks, a block that leaves x is moved inside.
"""

ORDER = """
broadcast_to(x, shape: Shape): Repeat along axes of size 1 up to a shape.
tile(x, reps: Counts): Repeat the whole array along axes.
repeat(x, repeats: Counts, axis: Axis | None = None):
    Repeat every element: all as often as one number says, or each as often as its own.
reshape(x, shape: NewShape): Return the same elements in another shape; one size may be -1.
append(x, values: SameDType, axis: Axis | None = None): Join values to x along an axis, or both flattened.
select(conditions: MixedArrays, choices: Arrays, default: Constant = 0.0):
    Return the elements of the first choice whose condition holds, else the default.
split(x, sections: Ints, axis: Axis = 0) -> list[Array]: Split into equal parts, or at indices.
unstack(x, axis: Axis = 0) -> tuple[Array, ...]: Return the slices along an axis, without that axis.
pad(x, pad_width: Borders, mode: Text = 'constant', constant_values: Constant = 0.0):
    Add borders: constant, edge, reflect, symmetric or wrap.
sort(x, axis: Axis = -1, descending: Flag = False): Sort along an axis.
argsort(x, axis: Axis = -1, descending: Flag = False):
    Return the indices that would sort; equal values keep their order.
top_k(x: Ordered, k: Int) -> tuple[Array, Array]:
    Return the k largest values of the last axis, in order, and their indices.
searchsorted(x, values: SameDType, side: Side = 'left'): Find where values would be inserted into the sorted vector x.
isin(x, values: SameDType): Return True where an element of x is among the values.
stop_gradient(x): Return the same values, which gradients take for constants.
"""

SCATTERING = """
scatter_add(x: Numeric, indices: Array, updates: Filling):
    Add updates[i] to row indices[i] of x; compiled code without checks ignores an index out of range.
scatter(indices: Array, values: Operand, shape: Shape):
    Put values at index tuples into zeros, and add those at the same place; compiled code without checks ignores an
    index out of range.
scatter_update(x, indices: Array, updates: Filling):
    Replace elements or slices of x at index tuples; compiled code without checks ignores an index out of range.
multi_hot(indices: Array, num_classes: Count, axis: NewAxis = -1, dtype: DType | None = 'float32'):
    Return 1 at each index along the last axis of indices, else 0: (..., n) -> (..., num_classes).
in_top_k(targets: Array, predictions: Ordered, k: Size):
    Return True where the class of a target is among the k with the largest predictions.
unravel_index(indices: Array, shape: Shape) -> tuple[Array, ...]:
    Convert indices into the flattened array to indices for each axis of a shape; in compiled code without checks, an
    index out of range gives the sizes.
"""

SEGMENTS = """
segment_sum(x, segment_ids: Array, num_segments: Count):
    Sum rows by segment id; compiled code without checks ignores an id out of range.
segment_mean(x, segment_ids: Array, num_segments: Count):
    Compute the means of rows by segment id, 0 where there are none; compiled code without checks ignores an id out of
    range.
segment_max(x: Ordered, segment_ids: Array, num_segments: Count):
    Return the largest of the rows with each segment id; -inf, or the least integer, where there are none.
segment_min(x: Ordered, segment_ids: Array, num_segments: Count):
    Return the smallest of the rows with each segment id; inf, or the largest integer, where there are none.
segment_softmax(x, segment_ids: Array, num_segments: Count):
    Compute exp(x) normalised to sum 1 over the rows of each segment; its shape is that of x.
"""

REARRANGING = """
rearrange(x, pattern: Text, **sizes: Size):
    Split, order and merge axes by a pattern: rearrange(x, 'b (h p) c -> b h (p c)', p=2).
"""
