"""Reading and checking machine workflows: positions, suggestions, and what is refused."""

import pickle
from pathlib import Path

import pytest

from sol.errors import NotFoundError
from sol.workflow import (
    DefinitionChangedError,
    NotAWorkflowError,
    Workflow,
    WorkflowError,
    check_workflow,
    load_definition,
    parse_definition,
    to_mermaid,
)
from sol.workflow.linked import changes, find_workflow, known_workflows
from tests.unit.workflow.walk import LOOP, PARALLEL, messages, workflow_in, workflow_of

HEAD = "name: w\nsteps:\n"


def step(rest: str, name: str = "s") -> str:
    return f"{HEAD}  - name: {name}\n    instruction: do it\n{rest}"


def one_rule(condition: str, rest: str = "next: COMPLETE") -> str:
    return step(f"    rules:\n      - condition: {condition}\n        {rest}\n")


def test_sound_workflows_have_no_findings() -> None:
    assert messages(PARALLEL) == []
    assert messages(LOOP) == []


def test_not_a_workflow_is_said_in_so_many_words(tmp_path: Path) -> None:
    for text in ("language: en\n", "- a\n", "steps: 3\n"):
        with pytest.raises(NotAWorkflowError, match="not a workflow: it has no list of steps"):
            parse_definition(text, source="config.yaml", directory=tmp_path)
    with pytest.raises(WorkflowError, match="cannot be read"):
        load_definition(tmp_path / "missing.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (one_rule("ok", "nxt: COMPLETE"), "7:14 a rule has no field 'nxt'"),
        (one_rule("ok") + "    instrction: x\n", "8:5 unknown field 'steps[0].instrction'; did you mean 'instruction'"),
        ("name: w\nsteps: []\n", "2:8 steps is empty"),
        (one_rule("ok") + "    parallel: []\n", "parallel is empty"),
        (HEAD + "  - instruction: x\n", "field 'name' is missing"),
        (one_rule("ok", "next: plann"), "7:15 next: there is no step 'plann'"),
        (one_rule("ok", "next: complete"), "7:15 next: there is no step 'complete'; did you mean 'COMPLETE'?"),
        (one_rule("ok") + "initial_step: t\n", "8:15 initial_step: there is no step 't'"),
        (step(""), "3:5 step 's' has no rules"),
        (HEAD + "  - name: s\n    rules: [{condition: a, next: COMPLETE}]\n", "3:5 step 's' says nothing to do"),
        (one_rule("all()"), "6:24 all() needs a text in double quotes"),
        (one_rule("'all(\"a\") && when(x)'"), "nothing may follow all(…)"),
        (one_rule("ok", "next: COMPLETE\n        appendix: 3"), "8:19 appendix must be a text, not 3"),
        (one_rule("ok", "return: x"), "7:17 return 'x' is not declared"),
        (one_rule("ok", "next: COMPLETE\n        return: x"), "8:9 a rule has next and return"),
        (one_rule("ok", "return: ABORT"), "return: ABORT is written next: ABORT"),
        (one_rule("ok") + "    solve: true\n    call: other\n", "has call and solve; keep one"),
        (one_rule("ok") + "    kind: workflow_call\n", "kind workflow_call and call belong together"),
        (one_rule("ok") + "    args: {a: b}\n", "args are for steps with call"),
        (one_rule("ok") + "    report: ../up.md\n", "report file '../up.md' leaves the report directory"),
        (one_rule("ok") + "    output_contracts: {report: [{name: /etc/x}]}\n", "report file '/etc/x' leaves"),
        (one_rule("ok") + "    mode: system\n    effects: []\n", "3:5 step 's': steps without a worker"),
        (one_rule("ok") + "    arpeggio: {}\n", "field 'arpeggio': steps over the rows"),
        (one_rule("ok") + "    uses: other\n", "field 'uses': step fragments are not offered"),
        (one_rule("ok") + "    worker: {tools: 3}\n", "needs a kind"),
        (one_rule("ok") + "    instruction_template: x\n", "instruction_template is an alias of instruction"),
        (one_rule("ok") + "    parallel: {fixed: [{name: t, instruction: x}], pool: []}\n", "field 'pool': sub-steps"),
        (one_rule("ok", 'next: COMPLETE\n        when: {value: "{{ a.b }}", equals: true}'), "{{ a.b }} is nothing"),
        (one_rule("ok") + "    knowledge: {$param: k}\n", "there is no parameter 'k'"),
        (LOOP.replace("[review, fix]", "[review, fox]"), "cycle: there is no step 'fox'; did you mean 'fix'?"),
        (LOOP.replace("[other]", "[fix]"), "step 'fix' is in the cycle and ignored"),
        (LOOP.replace("[other]", "[another]"), "ignore_steps: there is no step 'another'"),
        (LOOP.replace("enough, next: COMPLETE", "enough, next: nowhere"), "next: there is no step 'nowhere'"),
        (LOOP.replace("[review, fix]", "[review]"), "cycle"),
        (PARALLEL.replace("next: reviews}", "next: a}"), "next: 'a' is a sub-step"),
        (PARALLEL.replace('all("approved")', "'all(\"approved\", \"x\", \"y\")'"), "3 labels for 2 children"),
    ],
)  # fmt: skip
def test_faults_are_errors_with_their_place(text: str, message: str) -> None:
    found = messages(text, "error")
    assert any(message in one for one in found), found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (one_rule("ok") + "    tags: [a]\n", "8:5 field 'tags' is known, but not acted on"),
        (one_rule("ok") + "workflow_config: {}\n", "8:1 field 'workflow_config' is known"),
        (one_rule('all("X")'), "never holds, since the step has no children"),
        (one_rule("ALL(\"X\")"), "Probably meant"),
        (one_rule("ok", "next: ABORT"), "3:3 no way leads to COMPLETE"),
        (PARALLEL.replace('any("needs_fix")', 'all("needs_fix")'), "no rule covers the child verdicts ('ap"),
        (PARALLEL + "  - {name: d, instruction: x, rules: [{condition: a, next: COMPLETE}]}\n", "'d' is never reached"),
        (PARALLEL.replace("name: par", "name: par\nmax_steps: infinite"), "max_steps is infinite and steps lead back"),
        (one_rule("ok").replace("do it", "do {previous_respons}"), "{previous_respons} is no placeholder"),
        (one_rule("ok").replace("do it", "do {{ task }}"), "{{ task }} is no placeholder and stays"),
        (one_rule("ok") + "    persona: coder\n", "no text found for persona: coder; put a file"),
        (one_rule("ok").replace("do it", "plan"), "no text found for instruction: plan; the workflow runs once"),
        (one_rule("ok") + "max_steps: 3\nmax_iterations: 4\n", "max_iterations is an alias of max_steps"),
    ],
)  # fmt: skip
def test_doubts_are_warnings_with_their_place(text: str, message: str) -> None:
    found = messages(text, "warning")
    assert any(message in one for one in found), found
    assert messages(text, "error") == []


@pytest.mark.case("YAML-01")
def test_words_and_numbers_keep_their_type() -> None:
    text = HEAD + "  - name: no\n    instruction: on\n    rules:\n      - {condition: yes, next: on}\n"
    text += "  - name: on\n    instruction: 'x'\n    rules: [{condition: 'off', next: COMPLETE}]\n"
    definition = workflow_of(text).definition
    assert [one.name for one in definition.steps] == ["no", "on"]
    assert definition.steps[0].rules[0].rule.verdict == "yes"
    assert any("must be true or false" in one for one in messages(one_rule("ok") + "    edit: yes\n", "error"))
    assert messages(one_rule("1.10"), "error")[0].endswith("Put it in quotes.")
    assert workflow_of(one_rule("007")).definition.steps[0].rules[0].rule.verdict == "007"


@pytest.mark.case("YAML-02")
def test_duplicates_are_refused_with_both_lines() -> None:
    twice = one_rule("ok") + "    instruction: other\n"
    assert any("on line 8 was already given on line 4; keep one" in one for one in messages(twice, "error"))
    names = one_rule("ok") + "  - name: S\n    instruction: x\n    rules: [{condition: a, next: COMPLETE}]\n"
    assert any("step name 'S' on line 8 is already used on line 3" in one for one in messages(names, "error"))
    merge = one_rule("ok") + "    <<: {a: b}\n"
    assert any("merge key << is not supported" in one for one in messages(merge, "error"))


@pytest.mark.case("CYC-01")
def test_workflows_that_call_each_other_in_a_cycle_are_refused(tmp_path: Path) -> None:
    def calls(name: str, other: str) -> str:
        step = f"  - name: s\n    call: {other}\n    rules: [{{condition: COMPLETE, next: COMPLETE}}]\n"
        return f"name: {name}\nsteps:\n{step}"

    with pytest.raises(WorkflowError, match=r"in a cycle: a\.yaml > b\.yaml > c\.yaml > a\.yaml") as error:
        workflow_in(tmp_path, a=calls("a", "b"), b=calls("b", "c"), c=calls("c", "a"))
    assert "c.yaml:4:11: error" in str(error.value)
    with pytest.raises(WorkflowError, match="calls 'gone', and there is no such workflow beside this one"):
        workflow_in(tmp_path, a=calls("a", "gone"))
    with pytest.raises(WorkflowError, match=r"cycle: a\.yaml > a\.yaml"):
        workflow_in(tmp_path, a=calls("a", "a"))


CALLED = """
name: called
subworkflow:
  callable: true
  returns: [again]
  params:
    what: {type: facet_ref, facet_kind: instruction}
    more: {type: "facet_ref[]", facet_kind: knowledge, default: [words of wisdom]}
steps:
  - name: t
    instruction: {$param: what}
    knowledge: {$param: more}
    rules: [{condition: a, next: COMPLETE}, {condition: b, return: again}]
"""


def test_callers_and_called_workflows_must_fit(tmp_path: Path) -> None:
    caller = HEAD + "  - name: s\n    call: called\n    args: {args}\n"
    caller += "    rules: [{condition: {label}, next: COMPLETE}]\n"

    def found(args: str, label: str) -> list[str]:
        text = caller.replace("{args}", args).replace("{label}", label)
        return [one.message for one in check_workflow(workflow_in(tmp_path, w=text, called=CALLED))]

    assert found("{what: do the thing}", "again") == []
    assert found("{}", "again") == ["step 's': called needs the argument 'what'; add it to args"]
    assert found("{what: do it, mroe: some words}", "again") == ["called has no parameter 'mroe'; did you mean 'more'?"]
    assert found("{what: do it}", "agian") == ["step 's': called never ends with 'agian'; did you mean 'again'?"]


def test_texts_are_found_beside_the_workflow(tmp_path: Path) -> None:
    inner = tmp_path / "flows"
    (tmp_path / "facets" / "personas").mkdir(parents=True)
    (inner / "instructions").mkdir(parents=True)
    (tmp_path / "facets" / "personas" / "coder.md").write_text("You code.", encoding="utf-8")
    (inner / "instructions" / "plan.md").write_text("Plan {task}.", encoding="utf-8")
    (tmp_path / "style.md").write_text("Be brief.", encoding="utf-8")
    (tmp_path / "secret.env").write_text("KEY=1", encoding="utf-8")
    text = one_rule("ok").replace("do it", "plan") + "    persona: coder\n    policy: [style, ../secret.env]\n"
    (inner / "w.yaml").write_text(text + "policies: {style: ../style.md}\n", encoding="utf-8")
    found = load_definition(inner / "w.yaml").steps[0]
    assert [one.text for one in found.facets] == ["You code.", "Plan {task}.", "Be brief.", None]


def test_texts_may_come_from_the_caller(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(one_rule("ok").replace("do it", "plan"), encoding="utf-8")
    workflow = Workflow.load(tmp_path / "w.yaml", texts=lambda kind, name: f"{kind} {name}")
    assert workflow.asks(workflow.definition.steps[0], workflow.root, {})["instruction"] == ["instruction plan"]


@pytest.mark.case("RES-03")
def test_changes_are_named_by_step_and_field() -> None:
    before = workflow_of(PARALLEL).fingerprint()
    assert changes(before, workflow_of("# a comment\n" + PARALLEL + "\n\n").fingerprint()) == []
    after = PARALLEL.replace("fix it", "fix it all").replace("name: a,", "name: c,") + "max_steps: 3\n"
    assert changes(before, workflow_of(after).fingerprint()) == [
        "w.yaml: max_steps changed",
        "w.yaml: step 'a' removed",
        "w.yaml: step 'c' added",
        "w.yaml: step 'fix': instruction changed",
        "w.yaml: step 'reviews': parallel changed",
    ]
    assert changes(before, {}) == ["w.yaml: removed"]


def test_errors_pickle() -> None:
    with pytest.raises(WorkflowError) as error:
        parse_definition(step("    rules: 3\n"), source="w.yaml", directory=Path())
    for one in (error.value, DefinitionChangedError("r", ["a changed"])):
        again = pickle.loads(pickle.dumps(one))
        assert (type(again), str(again)) == (type(one), str(one))


def test_shipped_workflows_are_sound_and_have_all_their_texts() -> None:
    known = known_workflows()
    assert sorted(known) == ["research", "review"]
    for path in known.values():
        assert check_workflow(Workflow.load(path)) == []


def test_workflows_are_found_by_name_or_path(tmp_path: Path) -> None:
    own = tmp_path / ".sol" / "workflows" / "review.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(PARALLEL, encoding="utf-8")
    assert find_workflow("review", tmp_path) == own
    assert find_workflow(str(own)) == own
    assert find_workflow("review").parent.name == "workflows"
    assert Workflow.load("review").name == "review"
    assert Workflow.load(str(own)).name == "par"
    with pytest.raises(NotFoundError, match="did you mean 'review'"):
        find_workflow("reveiw", tmp_path)
    with pytest.raises(NotFoundError, match="no workflow file"):
        find_workflow("a/b.yaml")


def test_diagram_has_every_step_and_arrow_and_no_markup_of_its_own() -> None:
    text = to_mermaid(workflow_of(LOOP.replace("condition: hopeless", "condition: 'x\"] --> <b>'")).definition)
    assert text.startswith("flowchart TD\n")
    assert 's0["review"]' in text
    assert 's0 -- "good" --> done' in text
    assert 'm0 -. "go on" .-> s0' in text
    assert '"x#34;#93; --#62; #60;b#62;"' in text
    assert "subgraph s0" in to_mermaid(workflow_of(PARALLEL).definition)


def test_diagram_of_calls_returns_and_unknown_steps(tmp_path: Path) -> None:
    text = "name: w\nsubworkflow: {returns: [x]}\nsteps:\n  - name: s\n    call: c\n    rules:\n"
    text += "      - {condition: a, return: x}\n      - {otherwise: true, next: gone}\n"
    drawn = to_mermaid(parse_definition(text, source="w.yaml", directory=tmp_path))
    assert 's0[["s: c"]]' in drawn
    assert "--> r0" in drawn
    assert 'unknown["gone"]' in drawn or "--> unknown" in drawn
