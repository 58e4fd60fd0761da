"""The settings of the project that a command runs in: defaults of its options, and ``--show-config``.

Options come before ``agent.yaml``, which comes before the files in ``data/config``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rag_evaluation_framework.cli.options import SECRET, flag, new_screen, show
from rag_evaluation_framework.errors import RagEvalError
from rag_evaluation_framework.evaluation.option_table import DECLARED, declared
from rag_evaluation_framework.files.project_root import in_project, project_root

if TYPE_CHECKING:
    from rag_evaluation_framework.datasets.project_settings import Setting

_SEEDED = ("evaluate", "golden", "score", "retrieval", "rank", "compare", "generate", "sample")
_ASKING = ("evaluate", "golden")
_RETRIEVAL = ("retrieval", "benchmark")
_OF_RETRIEVAL = ("corpus", "glob", "chunker", "embedder", "retriever", "store", "index", "reranker")
# Which option of which commands a setting is the default of; of no name, what the commands do by themselves.
_EVALUATION: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "dataset": ("dataset", ("retrieval",)),
    "metrics": ("", ("evaluate", "benchmark")),
    "citations.tolerance_chars": ("", _ASKING),
    "confidence_level": ("confidence", ("rank", "agreement", "calibrate", *_ASKING)),
    "output": ("", (*_ASKING, "score", "results", "trend", "compare", "benchmark")),
    **{
        each.project: (each.name, _SEEDED if each.project == "seed" else _ASKING)
        for each in DECLARED.values()
        if each.project
    },
    **{f"retrieval.{name}": (name, _RETRIEVAL) for name in (*_OF_RETRIEVAL, "k", "fetch_k")},
    **{f"retrieval.{name}": (name, ("retrieval",)) for name in ("level", "rank_by", "cache")},
}
_PERFORMANCE: Mapping[str, tuple[str, tuple[str, ...]]] = {
    key: (name, ("benchmark",))
    for key, name in {
        **{name: name for name in ("dataset", "repetitions", "concurrency", "percentiles", "output")},
        "warmup_queries": "warmup",
        "timeout_seconds": "timeout",
    }.items()
}
CONFIGURED = frozenset(
    name for table in (_EVALUATION, _PERFORMANCE) for _, names in table.values() for name in names
)
"""The commands that a project's settings say something about."""

_PATHS = ("corpus", "cache", "output")
_KEY = "rag_evaluation_framework.configuration"


class _DatasetPath(click.Path):
    """A path, or the id of a dataset in the catalogue of the project, which becomes its path."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        name, ending = str(value), Path(str(value)).suffix[1:]
        # `log.jsonl` is the name of a file; `sample_eval_v1.0.0` may be an id.
        is_file_name = ending.isalpha() or Path(name).name != name
        if not is_file_name and not Path(name).exists() and in_project("data", "evaluation").is_dir():
            from rag_evaluation_framework.datasets.catalogue import catalogue_path

            return catalogue_path(name)
        return super().convert(value, param, ctx)


DATASET = _DatasetPath(exists=True, path_type=Path)
DATASET_FILE = _DatasetPath(exists=True, dir_okay=False, path_type=Path)
DATASET_OR_NOTHING = _DatasetPath(path_type=Path)


class ProjectDefaults(dict[str, Any]):
    """The defaults that a project gives the options of a command, read when the first is looked for.

    What is wrong with the files is raised when the command runs, so that its help can be read all the same.
    """

    def __init__(self, command: str) -> None:
        super().__init__()
        self._command = command
        self.error: RagEvalError | None = None

    @cached_property
    def settings(self) -> dict[str, Setting]:
        """Settings of the project for the command's options, by the names of their parameters.

        A setting without an option of the command has its key in brackets.
        """
        if project_root() is None:
            return {}
        try:
            return _settings_of(self._command)
        except RagEvalError as error:
            self.error = error
            return {}

    def __contains__(self, name: object) -> bool:
        return name in self.settings

    def __getitem__(self, name: str) -> Any:
        return _as_option(name, self.settings[name])

    def get(self, name: str, default: Any = None) -> Any:
        """Return the default of an option."""
        setting = self.settings.get(name)
        return default if setting is None else _as_option(name, setting)


def _settings_of(command: str) -> dict[str, Setting]:
    from rag_evaluation_framework.datasets.project_settings import PERFORMANCE, project_settings

    tables = [(project_settings(), _EVALUATION)]
    tables += [(project_settings(PERFORMANCE), _PERFORMANCE)] if command == "benchmark" else []
    found: dict[str, Setting] = {}
    for settings, table in tables:
        for key, setting in settings.items():
            name, commands = table[key]
            # What evaluations call --confidence is another thing.
            has_option = name and not (key == "confidence_level" and command in _ASKING)
            if command in commands:
                found[name if has_option else f"({key})"] = setting
    return found


def _as_option(name: str, setting: Setting) -> Any:
    if setting.key == "max_retries":
        return setting.value + 1
    if name == "dataset":
        return str(project_dataset(setting.value))
    if name in _PATHS:
        return str(in_project(setting.value))
    return setting.value


def project_dataset(named: str) -> Path:
    """Return the dataset that a project's settings name: by its id, else by its path in the project."""
    from rag_evaluation_framework.datasets.catalogue import catalogue_path

    path = in_project(named)
    return path if path.is_file() else catalogue_path(named)


class DefaultsByCommand(dict[str, Any]):
    """The defaults of every command, for the context of the program."""

    def get(self, name: str, default: Any = None) -> Any:
        """Return the defaults of a command."""
        return ProjectDefaults(name) if name in CONFIGURED else default


def in_force(key: str) -> Any:
    """Return what the project says of a setting that the current command has no option for."""
    defaults = click.get_current_context().default_map
    setting = defaults.settings.get(f"({key})") if isinstance(defaults, ProjectDefaults) else None
    return None if setting is None else setting.value


def is_given(name: str) -> bool:
    """Return True if an option of the current command was given, rather than taken from somewhere."""
    source = click.get_current_context().get_parameter_source(name)
    return source in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


def with_configuration(name: str, command: click.Command) -> click.Command:
    """Let a command refuse a wrong configuration, and show with ``--show-config`` what is in force."""
    if name not in CONFIGURED or any(each.name == "show_config" for each in command.params):
        return command
    called = command.callback
    needed = [each for each in command.params if isinstance(each, click.Argument) and each.required]
    for argument in needed:  # what is in force can be shown without them
        argument.metavar = argument.metavar or str(argument.name).upper()
        argument.required = False

    @wraps(called or _nothing)
    def checked(*arguments: Any, **given: Any) -> Any:
        context = click.get_current_context()
        defaults = context.default_map
        if isinstance(defaults, ProjectDefaults) and not defaults.settings and defaults.error:
            raise defaults.error
        if context.meta.get(_KEY):
            _show(context)
            return None
        if missing := next((each for each in needed if given.get(str(each.name)) in (None, ())), None):
            raise click.MissingParameter(ctx=context, param=missing)
        return None if called is None else called(*arguments, **given)

    command.callback = checked
    told = "Show every setting with its source, and exit."
    flag("--show-config", told, expose_value=False, callback=_remember)(command)
    return command


def _nothing() -> None: ...


def _remember(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    context.meta[_KEY] = wanted


# What is shown.

_ASIDE = frozenset({"help", "help_all", "show_config", "width", "color", "as_json", "details"})
# The options that come before a key of ``agent.yaml``.
_BEFORE: dict[str, tuple[str, ...]] = {
    each.key: (each.name,) for each in declared("gate", "scoring", "options") if each.key
}
_BEFORE |= {name: (name,) for name in ("datasets", "metrics")}
_BEFORE |= {"url": ("url", "target"), "judge": ("judge_models",)}
Row = tuple[str, str, str]
"""A setting, its value and its source."""


def _show(context: click.Context) -> None:
    from rag_evaluation_framework.cli.output import print_json
    from rag_evaluation_framework.reports.blocks import Column

    rows = sorted(_rows(context), key=lambda row: row[2] == "default")
    if context.params.get("as_json"):
        print_json([dict(zip(("setting", "value", "from"), row, strict=True)) for row in rows])
        return
    screen = new_screen()
    columns = [Column("setting"), Column("in force", flexible=True), Column("from")]
    folder = f"{(project_root() or Path()) / 'data' / 'config'}/"
    screen.table(columns, [[name, value, origin.removeprefix(folder)] for name, value, origin in rows])
    unset = [_option_name(each) for each, value in _parameters(context) if value in (None, (), "")]
    screen.gap()
    screen.say(f"not set: {', '.join(unset)}", hang=9)
    show(screen)


def _rows(context: click.Context) -> Iterator[Row]:
    """Yield what is in force: from the manifest, then by option, then the settings that have no option."""
    manifest = dict(_of_manifest(context))
    yield from ((name, value, origin) for name, (value, origin) in manifest.items())
    defaults = context.default_map
    settings = dict(defaults.settings) if isinstance(defaults, ProjectDefaults) else {}
    for parameter, value in _parameters(context):
        name = str(parameter.name)
        setting = settings.pop(name, None)
        source = context.get_parameter_source(name)
        if value in (None, (), ""):
            continue
        if isinstance(parameter, click.Option) and parameter.is_flag:
            value = value == parameter.flag_value
        written, origin = (
            _option_name(parameter),
            "option" if isinstance(parameter, click.Option) else "argument",
        )
        if source is ParameterSource.DEFAULT_MAP and setting is not None:
            key = setting.key.rpartition(".")[2]
            written, origin = written if key == name else f"{written} ({key})", setting.origin
        elif source not in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT):
            origin = "default"
        yield written, _text(value), origin
    for setting in settings.values():
        if setting.key not in manifest and not (setting.key == "metrics" and context.params.get("metrics")):
            yield setting.key, _text(setting.value), setting.origin


def _parameters(context: click.Context) -> Iterator[tuple[click.Parameter, Any]]:
    for parameter in context.command.params:
        if parameter.name in context.params and parameter.name not in _ASIDE:
            yield parameter, context.params[str(parameter.name)]


def _option_name(parameter: click.Parameter) -> str:
    return max(parameter.opts, key=len) if isinstance(parameter, click.Option) else str(parameter.name)


def _text(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ", ".join(map(_text, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_text(each)}" for name, each in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return "…" if SECRET.search(text) else text


def _of_manifest(context: click.Context) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield what ``agent.yaml`` says of the evaluation and of the agent, as far as no option does."""
    path = context.params.get("manifest")
    if path is None or path.suffix not in (".yaml", ".yml"):
        return
    from rag_evaluation_framework.files.access import read_text
    from rag_evaluation_framework.files.yaml_documents import YamlReader

    reader = YamlReader(read_text(path), file=str(path))
    for section, keys in (("evaluation", None), ("api", ("url", "protocol", "model"))):
        for key, value in reader.mapping("spec", section).items():
            is_overruled = any(is_given(name) for name in _BEFORE.get(key, ()))
            if (keys is None or key in keys) and not is_overruled:
                if key == "datasets" and isinstance(value, list):
                    value = [each.get("name") if isinstance(each, dict) else each for each in value]
                yield key, (_text(value), f"{path}:{reader.line(('spec', section, key))}")
