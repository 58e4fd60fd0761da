"""The evaluation settings of a manifest (``agent.yaml``); the rest of an AgentSpec file is left alone.

::

    spec:
      evaluation:
        framework: ragas                # recorded; the metrics are ours
        datasets:
          - name: rag-quality
            path: $file:evals/rag.jsonl
            metrics: [string_match]     # in place of the list below
            thresholds: {string_match: 0.9}     # in place of those below
        metrics: [answer_similarity, latency]
        thresholds: {correct: {min: 90%}, wrong: {max: 0}, latency: {max: 2000}}
        ciGate: true
        minScored: 0.9                  # and other settings of the gate, see ManifestReader.gate
        judge: {model: gpt-4o-mini}     # see JudgeSettings
        support: entailment(path=models/nli)    # or a cascade
      api: …                            # see AgentApi

All problems of a file are reported at once, each with its line. An unknown key in ``spec.evaluation`` is a
problem too, and so is one of the gate's in another place: either would switch the gate off without a word.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import InputError, UnknownNameError, UsageError, shown
from rag_evaluation_framework.evaluation.agent_shapes import (
    DEFAULT_PATH,
    METHODS,
    PLACE,
    PLACEHOLDERS,
    PROTOCOLS,
    REPLY_PARTS,
    SHAPES,
    has_question,
    texts_in,
)
from rag_evaluation_framework.evaluation.option_table import DeclaredOption, declared
from rag_evaluation_framework.evaluation.secrets import (
    FILE_MARK,
    Secrets,
    WrittenText,
    file_inside,
    has_reference,
    resolved_texts,
    with_texts,
)
from rag_evaluation_framework.files.access import is_there, read_text
from rag_evaluation_framework.files.json_scanner import ValuePath, written_path
from rag_evaluation_framework.files.strict_json import JsonPath
from rag_evaluation_framework.files.yaml_documents import YamlReader
from rag_evaluation_framework.judging.methods import JudgeSettings, Scoring
from rag_evaluation_framework.metrics.declaration import PASS_RATE, check_known, check_metric, metric_name
from rag_evaluation_framework.records.samples import Dataset
from rag_evaluation_framework.results.run_data import SamplesRead
from rag_evaluation_framework.results.verdicts import OF_ANSWERS, Threshold, read_thresholds

if TYPE_CHECKING:
    from rag_evaluation_framework.datasets.row_fields import RowReading

# Reads the parts of ``spec.evaluation`` that manifests and the settings of golden sets have in common.

EVALUATION: ValuePath = ("spec", "evaluation")


class ManifestReader(YamlReader):
    """The values of a manifest; its paths are relative to the folder it is in."""

    code = "invalid-manifest"

    def __init__(self, path: Path, *, expected: str, uses_metrics: bool = True) -> None:
        """Open a file with a ``spec``; one without is not what was ``expected``."""
        super().__init__(read_text(path), file=str(path))
        self.folder = path.parent
        self.uses_metrics = uses_metrics
        if not self.mapping("spec"):
            self.problem((), expected, shown(self.value))
            self.raise_all()

    def evaluation_keys(self, known: Sequence[str]) -> None:
        """Note every key of ``spec.evaluation`` that is not known, and those of the gate outside of it."""
        self.check_keys((*known, *_GATE_KEYS), *EVALUATION, strict=True)
        # Words that others may use in their own parts of a manifest are not taken for the gate's.
        ours = {key.casefold(): key for key in ("thresholds", *_GATE_KEYS) if key not in _COMMON_WORDS}
        for place in ((), EVALUATION[:1]):
            for key in self.mapping(*place):
                if key.casefold() in ours:
                    expected = f"{ours[key.casefold()]} in {written_path(EVALUATION)}"
                    self.problem(
                        (*place, key),
                        expected,
                        (f"{key} outside {written_path(EVALUATION)}"),
                        code="misplaced-key",
                    )

    def gate(self) -> bool:
        """Return True if the gate is switched on."""
        return self.true_or_false(*EVALUATION, "ciGate")

    def settings(self, *of: str, within: ValuePath = EVALUATION) -> dict[str, dict[str, Any]]:
        """Return what is written of declared options, by the records and the names of their fields."""
        found: dict[str, dict[str, Any]] = {name: {} for name in of}
        for each in declared(*of):
            if each.key is not None and self.at(*within, each.key) is not None:
                found[each.of][each.field] = self.setting(each, (*within, each.key))
        return found

    def setting(self, declared: DeclaredOption, place: ValuePath) -> Any:
        """Return the value of an option."""
        if declared.type == "number":
            return self.share(*place) if declared.most == 1 else self.number(place)
        if declared.type == "whole":
            return self.whole_number(*place) if declared.least else self.number(place, whole=True)
        if declared.type == "choice":
            return self.choice(place, *declared.words)
        if declared.type == "names":
            return self.names(place, expected="a name or a list of names")
        if declared.type == "file":
            return self.existing_file(*place)
        return self.true_or_false(*place) if declared.type == "flag" else self.optional_text(*place)

    def choice(self, place: ValuePath, *choices: str) -> str:
        """Return one of the words that may stand at a place."""
        found = self.at(*place)
        if found not in choices:
            self.problem(place, " or ".join(choices), shown(found))
        return found if found in choices else choices[0]

    def names(self, place: ValuePath, *, expected: str) -> tuple[str, ...]:
        """Return the names at a place: a list, or a single one."""
        if isinstance(self.at(*place), str):
            return (self.text(*place),)
        return self.texts(*place, expected=expected)

    def number(self, place: ValuePath, *, whole: bool = False) -> float:
        """Return the number of at least 0 at a place."""
        found = self.at(*place)
        if isinstance(found, bool) or not isinstance(found, int if whole else int | float) or found < 0:
            self.problem(place, f"a {'whole ' if whole else ''}number of at least 0", shown(found))
            return 0
        return found

    def thresholds(
        self, declared: frozenset[str] = frozenset(), *, within: ValuePath = EVALUATION
    ) -> tuple[Threshold, ...]:
        """Return the thresholds at a place, of metrics that are known or ``declared`` by the datasets."""
        place = (*within, "thresholds")
        found: list[Threshold] = []
        spelt: dict[str, str] = {}
        for metric, written in self.mapping(*place).items():
            at = (*place, metric)
            first = spelt.setdefault(metric_name(metric), metric)
            if first != metric:
                told = f"duplicate of {first} on line {self.line((*place, first))}"
                self.problem(at, "one threshold per metric", told)
            try:
                check_known(metric, {*OF_ANSWERS, *declared})
                found += read_thresholds(metric, written, line=self.line(at))
            except UnknownNameError as error:
                self.problem(at, "the name of a metric", str(error), code="unknown-metric")
            except InputError as error:
                self.problems(at, error)
        return tuple(found)

    def metrics(self, *place: str | int) -> tuple[str, ...]:
        """Return the metrics listed at a place, where there must be some; if they are used, known ones."""
        metrics = self.texts(*place, expected="a list of metrics")
        for number, metric in enumerate(metrics if self.uses_metrics else ()):
            try:
                if metric == PASS_RATE:
                    raise UsageError(f"every run has {PASS_RATE}. Remove it, or set a threshold for it.")
                check_metric(metric)
            except UsageError as error:
                self.problem((*place, number), "a metric", str(error), code="unknown-metric")
        return metrics

    def repeated(self, place: ValuePath, *, first: int | None) -> None:
        """Note that the name at a place was given before, on the line ``first``."""
        self.problem(place, "a unique name", f"{self.at(*place)!r}, already on line {first}")

    def existing_file(self, *place: str | int) -> Path | None:
        """Return the file named at a place, which must exist and lie inside the manifest's folder."""
        written = self.text(*place)
        try:
            path = file_inside(written, self.folder) if written else None
        except InputError as error:
            self.problems(place, error)
            return None
        if path is not None and not is_there(path):
            self.problem(place, "an existing file", shown(written), code="missing-file")
            return None
        return path


_BESIDE = ("gate", "scoring", "options")
# What stands beside ``thresholds`` and ``ciGate``.
_GATE_KEYS = ("ciGate", *(each.key for each in declared(*_BESIDE) if each.key))
_COMMON_WORDS = frozenset({"waive", "confidence", "repeats"})


# How an agent is talked to, as a manifest's ``spec.api`` says.
#
# ::
#
#     api:
#       url: http://localhost:8000            # asked where no --url is given
#       chatEndpoint: {path: /ask, protocol: simple}      # a protocol is one of SHAPES
#       model: my-model                       # named in the request
#       request:
#         method: POST
#         headers: {X-Session: "{{thread}}"}
#         body: {question: "{{question}}", history: "{{history}}", top_k: 5}
#       auth:                                 # one of these
#         token: ${AGENT_KEY}                 # Authorization: Bearer …
#         header: X-Api-Key                   # … or a header of your own
#         value: ${AGENT_KEY}
#       headers: {X-Tenant: $env:TENANT}
#       responsePaths: {answer: result.text, contexts: result.sources[*].text, thread: session.id}
#
# ``protocol`` may also stand beside ``chatEndpoint``. A body in which the question has a place takes the
# place of the protocol's; another one is sent beside it. An ``auth`` that only describes how the agent checks
# tokens (``type: jwt, jwksUri: …``) gives nothing to send and is left alone, as is everything else in
# ``spec.api``. Secret, and hidden wherever the agent sends them back, are ``auth``, what has a ``${…}`` or
# ``$secret:`` in it, and headers, fields and ``$env:`` variables whose names say so (``X-Api-Key``).

_API: ValuePath = ("spec", "api")
_AUTH: ValuePath = (*_API, "auth")
_REQUEST: ValuePath = (*_API, "request")
_AUTH_KEYS = ("type", "header", "value", "token")
_REQUEST_KEYS = ("method", "headers", "body")


class AgentApi(msgspec.Struct, frozen=True, kw_only=True):
    """The request to an agent, its address, and the place of the answer in the reply."""

    url: WrittenText | None = None
    path: str = DEFAULT_PATH
    protocol: str = "simple"
    model: str | None = None
    method: str = "POST"
    headers: tuple[WrittenText, ...] = ()
    body: Mapping[str, Any] = {}
    references: tuple[WrittenText, ...] = ()
    """The texts of the body that refer to something outside of the manifest."""
    response_paths: Mapping[str, str] = {}

    def resolved_headers(
        self, environment: Mapping[str, str], *, secrets: Secrets
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Return the plain headers, and the secret ones, hidden from now on; what is missing is one error."""
        values = resolved_texts((*self.headers, *self.references), environment, secrets)
        plain: dict[str, str] = {}
        secret: dict[str, str] = {}
        for header in self.headers:
            (secret if header.is_secret else plain)[header.name] = values[header.place]
        return plain, secret

    def resolved_body(self, environment: Mapping[str, str], *, secrets: Secrets) -> dict[str, Any]:
        """Return the template of the body with what it refers to; secrets are hidden from now on."""
        values = resolved_texts(self.references, environment, secrets)
        body: dict[str, Any] = with_texts(self.body, (*_REQUEST, "body"), values)
        return body

    def resolved_url(self, environment: Mapping[str, str], *, secrets: Secrets) -> str | None:
        """Return the address of the agent, where the manifest has one."""
        return None if self.url is None else resolved_texts((self.url,), environment, secrets)[self.url.place]


def read_api(reader: ManifestReader) -> AgentApi:
    """Read ``spec.api``; problems go to the reader."""
    reader.mapping(*_API)
    reader.check_keys(("chatEndpoint", "responsePaths", "request"), *_API)
    endpoint = (*_API, "chatEndpoint")
    reader.mapping(*endpoint)
    path = reader.optional_text(*endpoint, "path")
    if path is not None and ("://" in path or any(map(str.isspace, PLACE.sub("", path)))):
        reader.problem((*endpoint, "path"), f"a path such as {DEFAULT_PATH}", repr(path))
    protocol = _protocol(reader)
    reader.mapping(*_REQUEST)
    reader.check_keys(_REQUEST_KEYS, *_REQUEST, strict=True)
    method = (reader.optional_text(*_REQUEST, "method") or "POST").upper()
    if method not in METHODS:
        reader.problem((*_REQUEST, "method"), f"one of {', '.join(METHODS)}", shown(method))
    body, references = _body(reader)
    if method == "GET" and (body or not has_question(path or "")):
        expected = "a GET request with the question in its path (/ask?q={{question}})"
        reader.problem((*_REQUEST, "method"), expected, "a body" if body else shown(path))
    _check_places(reader, (*endpoint, "path"), path or "")
    return AgentApi(
        url=_url(reader),
        path=path or SHAPES.get(protocol, SHAPES["simple"]).path,
        protocol=protocol,
        model=reader.optional_text(*_API, "model"),
        method=method,
        headers=(*_auth_header(reader), *_headers(reader, _API), *_headers(reader, _REQUEST)),
        body=body,
        references=references,
        response_paths=_response_paths(reader),
    )


def _url(reader: ManifestReader) -> WrittenText | None:
    place = (*_API, "url")
    text = reader.optional_text(*place)
    if text is None:
        return None
    if not text.startswith(("http://", "https://", "$env:", "$secret:", "${")):
        reader.problem(place, "http://… or https://…", shown(text))
    return WrittenText("url", text, place, reader.file, reader.line(place))


def _protocol(reader: ManifestReader) -> str:
    for place in ((*_API, "chatEndpoint", "protocol"), (*_API, "protocol")):
        found = reader.optional_text(*place)
        if found is not None and found not in PROTOCOLS:
            reader.problem(place, f"one of {', '.join(PROTOCOLS)}", repr(found))
        if found is not None:
            return found
    return "simple"


def _auth_header(reader: ManifestReader) -> tuple[WrittenText, ...]:
    written = reader.mapping(*_AUTH)
    reader.check_keys(_AUTH_KEYS, *_AUTH)
    token = reader.optional_text(*_AUTH, "token")
    value = reader.optional_text(*_AUTH, "value")
    name = reader.optional_text(*_AUTH, "header") or "Authorization"
    if token is not None and value is not None:
        reader.problem(_AUTH, "token or value", "both")
    if token is not None:
        return (_header(reader, name, f"Bearer {token}", (*_AUTH, "token")),)
    if value is not None:
        return (_header(reader, name, value, (*_AUTH, "value")),)
    if "header" in written:
        reader.problem(_AUTH, "a value for the header", "no value")
    return ()


def _headers(reader: ManifestReader, within: ValuePath) -> tuple[WrittenText, ...]:
    place = (*within, "headers")
    return tuple(
        _header(reader, name, value, (*place, name))
        for name in reader.mapping(*place)
        if (value := reader.text(*place, name))
    )


def _header(reader: ManifestReader, name: str, value: str, place: ValuePath) -> WrittenText:
    if FILE_MARK in value:
        reader.problem(place, "text, $env: or $secret:", f"{FILE_MARK}, which is for datasets")
    _check_places(reader, place, value)
    is_key = place[:3] == _AUTH
    return WrittenText(name, value, place, reader.file, reader.line(place), is_key=is_key)


def _body(reader: ManifestReader) -> tuple[dict[str, Any], tuple[WrittenText, ...]]:
    place = (*_REQUEST, "body")
    body = reader.mapping(*place)
    references = []
    for inner, text in texts_in(body):
        at = (*place, *inner)
        _check_places(reader, at, text)
        if has_reference(text):
            references.append(WrittenText(str(inner[-1]), text, at, reader.file, reader.line(at)))
    return body, tuple(references)


def _check_places(reader: ManifestReader, place: ValuePath, text: str) -> None:
    """Note the places of a template that nothing stands for."""
    for name in PLACE.findall(text):
        if name not in PLACEHOLDERS:
            near = get_close_matches(name, PLACEHOLDERS, n=1)
            known = near or PLACEHOLDERS
            expected = " or ".join(f"{{{{{each}}}}}" for each in known)
            reader.problem(place, expected, f"{{{{{name}}}}}", code="unknown-place")


def _response_paths(reader: ManifestReader) -> dict[str, str]:
    place = (*_API, "responsePaths")
    found: dict[str, str] = {}
    for part in reader.mapping(*place):
        if part not in REPLY_PARTS:
            reader.problem((*place, part), f"one of {', '.join(REPLY_PARTS)}", part)
        elif text := reader.text(*place, part):
            try:
                JsonPath.parse(text)
            except InputError as error:
                reader.problems((*place, part), error)
            found[part] = text
    return found


# Which models judge, as a manifest or a command says; the judge itself is set up later.
#
# ::
#
#     judge:
#       model: gpt-4o-mini            # or a list: a panel
#       url: http://localhost:8000/v1
#       keyEnv: MY_KEY
#       votes: 3
#       rubric: $file:rubric.yaml
#       budget: 200                   # calls; and precision: 0.03, or either
#       all: true                     # also about answers whose verdict is known without it

_PLACE = (*EVALUATION, "judge")


def read_judge(reader: ManifestReader) -> JudgeSettings | None:
    """Read the judge of a manifest; ``None`` where it names none."""
    if not reader.mapping(*_PLACE):
        return None
    reader.check_keys([each.key for each in declared("judge") if each.key], *_PLACE)
    if reader.at(*_PLACE, "model") is None:
        reader.names((*_PLACE, "model"), expected="a model or a list of models")
    return JudgeSettings(**reader.settings("judge", within=_PLACE)["judge"])


FRAMEWORKS = ("ragas", "deepeval", "langsmith", "braintrust", "custom")

_EVALUATION_KEYS = ("framework", "datasets", "metrics", "thresholds", "judge", "support")
_DATASET_KEYS = ("name", "path", "metrics", "thresholds")


class DatasetEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A dataset that the manifest names; ``metrics`` are its own, or the global ones if it has none.

    ``thresholds`` are its own, in place of the global ones; ``None`` if it has none.
    """

    name: str
    path: Path | None
    metrics: tuple[str, ...]
    thresholds: tuple[Threshold, ...] | None = None
    line: int | None = None
    dataset: Dataset | None = None
    """The data itself, where it is in memory and in no file."""
    format: str | None = None
    """The dialect of the file, where it is not to be recognized from its content."""
    version: str | None = None
    source: SamplesRead | None = None
    """The samples, where what is at the path was read already, as traces are."""
    reading: RowReading | None = None
    """Where the parts of plain rows stand, where it is not of a known dialect."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a manifest that evaluation uses. References to secrets are not resolved in it."""

    file: Path
    datasets: tuple[DatasetEntry, ...]
    thresholds: tuple[Threshold, ...] = ()
    ci_gate: bool = False
    gate: Mapping[str, Any] = {}
    """The other settings of the gate, by the names of its fields."""
    framework: str | None = None
    api: AgentApi = msgspec.field(default_factory=AgentApi)
    scoring: Scoring = msgspec.field(default_factory=Scoring)
    """The judge, what decides which claims the evidence supports, and the most that may be spent."""
    repeats: int = 1
    """Number of times each sample is asked."""
    kind: Literal["suite", "golden"] = "suite"
    missing: tuple[str, ...] = ()
    """The splits that a folder of golden sets does not have."""
    configuration: Mapping[str, Any] = {}
    """The configuration that the heads of its runs record."""

    @property
    def declared(self) -> tuple[Threshold, ...]:
        """All the thresholds: those for every dataset, then those of single ones."""
        own = (each for entry in self.datasets for each in entry.thresholds or ())
        return (*self.thresholds, *own)

    def selected(self, names: tuple[str, ...]) -> tuple[DatasetEntry, ...]:
        """Return the datasets of these names in the manifest's order; all of them where none is named."""
        known = [entry.name for entry in self.datasets]
        for name in names:
            if name not in known:
                raise UnknownNameError("dataset", name, known)
        return tuple(entry for entry in self.datasets if not names or entry.name in names)


def read_manifest(
    path: str | Path,
    *,
    uses_metrics: bool = True,
    default_metrics: tuple[str, ...] = (),
    splits: Collection[str] = (),
) -> Manifest:
    """Read a manifest; :class:`InputError` has every problem with its line.

    Where others take the place of its metrics (``uses_metrics`` is false), these need not be known. Where it
    lists none, those by default are meant. With ``splits`` it has the settings of golden sets: its datasets
    are the splits, of these names, that have metrics of their own.
    """
    path = Path(path)
    expected = f"{'settings' if splits else 'a manifest'} with spec.evaluation"
    reader = ManifestReader(path, expected=expected, uses_metrics=uses_metrics)
    reader.mapping(*EVALUATION, required=not splits)
    reader.evaluation_keys([key for key in _EVALUATION_KEYS if key != "metrics" or not splits])
    datasets = _datasets(reader, default_metrics, splits)
    framework, api = None if splits else _framework(reader), read_api(reader)
    settings = reader.settings(*_BESIDE)
    manifest = Manifest(
        file=path,
        datasets=datasets,
        thresholds=reader.thresholds(frozenset(metric for entry in datasets for metric in entry.metrics)),
        ci_gate=reader.gate(),
        gate=settings["gate"],
        framework=framework,
        api=api,
        scoring=Scoring(
            judge=read_judge(reader),
            support=reader.optional_text(*EVALUATION, "support"),
            **settings["scoring"],
        ),
        **settings["options"],
        configuration={
            "manifest": str(path),
            **_system_version(reader),
            "framework": framework,
            "protocol": api.protocol,
        },
    )
    has_own = any(entry.thresholds for entry in datasets)
    if manifest.ci_gate and not splits and not reader.at(*EVALUATION, "thresholds") and not has_own:
        reader.problem((*EVALUATION, "ciGate"), "thresholds for the gate", "no thresholds")
    reader.raise_all()
    return manifest


def _system_version(reader: ManifestReader) -> dict[str, str]:
    """Return the agent's name and version, ``personal-rag-v2.1.0``, where the manifest says them."""
    name, version = (reader.at("metadata", field) for field in ("name", "version"))
    if not isinstance(name, str) or not isinstance(version, str | int | float):
        return {}
    return {"system_version": f"{name}-v{str(version).removeprefix('v')}"}


def _framework(reader: ManifestReader) -> str | None:
    place = (*EVALUATION, "framework")
    found = reader.optional_text(*place)
    if found is not None and found not in FRAMEWORKS:
        reader.problem(place, f"one of {', '.join(FRAMEWORKS)}", shown(found))
    return found


def _datasets(
    reader: ManifestReader, default: tuple[str, ...], splits: Collection[str]
) -> tuple[DatasetEntry, ...]:
    """Return the datasets that are listed, or the splits with metrics of their own."""
    place = (*EVALUATION, "datasets")
    one = "a split with name and metrics" if splits else "a dataset with name and path"
    keys = [key for key in _DATASET_KEYS if key != "path" or not splits]
    shared = None if splits else _metrics(reader, EVALUATION)
    shared = default or None if shared is None else shared
    found: dict[str, DatasetEntry] = {}
    listed = "a list of splits with metrics" if splits else "a list of datasets"
    is_absent = splits and reader.at(*place) is None
    for number in range(0 if is_absent else len(reader.items(*place, expected=listed))):
        at = (*place, number)
        if not isinstance(reader.at(*at), dict):
            reader.problem(at, one, shown(reader.at(*at)))
            continue
        reader.check_keys(keys, *at, strict=True)
        name = reader.text(*at, "name")
        if splits and name and name not in (*splits, *found):
            unknown = UnknownNameError("split", name, list(splits))
            reader.problem((*at, "name"), "the name of a split", str(unknown), code="unknown-split")
        path = None if splits else reader.existing_file(*at, "path")
        own = reader.metrics(*at, "metrics") if splits else _metrics(reader, at)
        metrics = shared if own is None else own
        if metrics is None:
            reader.problem(at, "metrics, here or in spec.evaluation.metrics", "no metrics")
        entry = DatasetEntry(
            name=name,
            path=path,
            metrics=metrics or (),
            thresholds=_own_thresholds(reader, at, name, metrics or ()),
            line=reader.line(at),
        )
        if name and (path or splits) and found.setdefault(name, entry) is not entry:
            reader.repeated((*at, "name"), first=found[name].line)
    return tuple(found.values())


def _own_thresholds(
    reader: ManifestReader, place: ValuePath, name: str, metrics: Sequence[str]
) -> tuple[Threshold, ...] | None:
    """Return the thresholds of one dataset's entry; ``None`` where it has none of its own."""
    if "thresholds" not in reader.mapping(*place):
        return None
    reader.mapping(*place, "thresholds", required=True)
    found = reader.thresholds(frozenset(metrics), within=place)
    return tuple(replace(threshold, dataset=name) for threshold in found)


def _metrics(reader: ManifestReader, place: ValuePath) -> tuple[str, ...] | None:
    """Return the metrics at a place; ``None`` where it lists none at all."""
    return None if reader.at(*place, "metrics") is None else reader.metrics(*place, "metrics")
