"""What is read in the text of a compiled program."""

from graftax.backend.jax.lowering import collectives_in

NESTED = """HloModule jit_step, is_scheduled=true

%body.1 (arg: (s32[], f32[8])) -> (s32[], f32[8]) {
  %all-gather.1 = f32[8]{0} all-gather(%slice), dimensions={0}
  ROOT %tuple.1 = (s32[], f32[8]{0}) tuple(%i, %all-gather.1)
}

%condition.1 (arg: (s32[], f32[8])) -> pred[] {
  ROOT %less = pred[] compare(%i, %n), direction=LT
}

%outer (arg: (s32[], f32[8])) -> (s32[], f32[8]) {
  %while.1 = (s32[], f32[8]) while(%t), condition=%less, body=%body.1, backend_config={"known_trip_count":{"n":"3"}}
  ROOT %all-reduce.2 = f32[2]{0} all-reduce(%x), to_apply=%add
}

%unknown (arg: f32[4]) -> f32[4] {
  ROOT %all-reduce.3 = f32[4]{0} all-reduce(%arg), to_apply=%add
}

%add (a: f32[], b: f32[]) -> f32[] {
  ROOT %sum = f32[] add(%a, %b)
}

ENTRY %main (p: f32[8]) -> f32[8] {
  %all-gather.9 = (f32[1]{0}, f32[8]{0}) all-gather-start(%p), dimensions={0}
  %while.2 = (s32[], f32[8]) while(%t), condition=%less, body=%outer, backend_config={"known_trip_count":{"n":"5"}}
  %while.3 = f32[4] while(%u), condition=%condition.1, body=%unknown
  ROOT %branch = f32[4] conditional(%k, %a, %b), branch_computations={%unknown, %add}
}
"""


def test_what_is_in_loops_runs_as_often_as_they_go_round() -> None:
    assert collectives_in(NESTED) == [
        ("all-gather", 32, 15),
        ("all-reduce", 8, 5),
        ("all-reduce", 16, 2),  # in a loop of which the compiler does not say how long it is, and in a branch
        ("all-gather", 32, 1),
    ]
