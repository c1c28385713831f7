"""Describe a Python function as a tool: its JSON Schema, and arguments checked against it before it is called.

Pure: nothing here calls the function. The schema comes from the signature (by pydantic) and the docstring, and
arguments are validated in pydantic's strict JSON mode, so that what the schema says is what is accepted: `"1"` is no
integer and `1` is no boolean, while `1.0` is an integer, as it is in JSON Schema.

Pydantic asserts a little more than the schema can say (formats such as `date`, keys of a `dict[int, …]`, validators
of one's own, nesting beyond 200), and in one place less: where a `Literal` or an `Enum` lists the numbers 0 or 1,
`false` and `true` pass for them.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema

from looptck.contract.messages import ToolDefinition
from looptck_reference.arguments import TOO_DEEP, ArgumentsError, encode_arguments
from looptck_reference.docstrings import read_docstring

if TYPE_CHECKING:
    from pydantic.json_schema import JsonSchemaValue

__all__ = ["Function", "ToolSpec", "describe_tool"]

Function: TypeAlias = Callable[..., Any]

_CoreSchema: TypeAlias = Any  # one of pydantic's internal descriptions of a type

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PROBLEMS_SHOWN = 10
_UNCALLABLE = {
    inspect.Parameter.VAR_POSITIONAL: "*{} has no name that a model could give an argument by",
    inspect.Parameter.VAR_KEYWORD: "**{} would let a model invent arguments",
    inspect.Parameter.POSITIONAL_ONLY: "{} is positional-only, and arguments are given by name",
}


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A function as a tool.

    `definition` is what the model is told. `names` are the function's parameters by the field of `model` that validates
    each (a field of a model cannot be named `model_config` or `_x`; a parameter can), `optional` the fields of those
    that Python itself fills in.
    """

    function: Function
    definition: ToolDefinition
    model: type[BaseModel]
    names: Mapping[str, str]
    optional: frozenset[str]

    @property
    def name(self) -> str:
        """The name that calls carry."""
        return self.definition.name

    def bind(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The keyword arguments to call the function with.

        Values come as the annotations say (a dataclass, a date, a set), and parameters that were not given are left
        to the function's own defaults. Raises `ArgumentsError`, naming each field that is wrong.
        """
        try:
            found = self._validated(arguments)
        except ValidationError as error:
            raise ArgumentsError(self._explain(error)) from error
        except ArgumentsError:
            raise
        except RecursionError as error:
            raise ArgumentsError(TOO_DEEP) from error
        except Exception as error:  # what a validator or constructor of the tool's own types may raise is open
            raise ArgumentsError(f"the arguments do not fit: {type(error).__name__}: {error}") from error
        left_out = self.optional - found.model_fields_set
        return {name: getattr(found, field) for field, name in self.names.items() if field not in left_out}

    def _validated(self, arguments: Mapping[str, Any]) -> BaseModel:
        """The arguments as a model. Raises `ValidationError`, or whatever a validator of the tool's own types does."""
        text = encode_arguments(arguments)
        try:
            return self.model.model_validate_json(text, strict=True)
        except ValidationError:
            # To JSON Schema 1.0 is an integer, to pydantic it is not. Only on failure: elsewhere 1.0 shall stay 1.0.
            whole = encode_arguments(_with_whole_numbers(arguments))
            if whole == text:
                raise
            return self.model.model_validate_json(whole, strict=True)

    def _explain(self, error: ValidationError) -> str:
        """One line for the model: what is wrong, field by field."""
        problems = error.errors(include_url=False, include_context=False, include_input=False)
        if problems[0]["type"] == "json_invalid":
            return TOO_DEEP  # the JSON is our own writing, so its depth is all that can be wrong with it
        lines = [self._problem(problem) for problem in problems[:_PROBLEMS_SHOWN]]
        if len(problems) > _PROBLEMS_SHOWN:
            lines.append(f"and {len(problems) - _PROBLEMS_SHOWN} more")
        return f"the arguments do not fit: {'; '.join(lines)}"

    def _problem(self, problem: Mapping[str, Any]) -> str:
        """One field and what is wrong with it."""
        place = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "missing":
            return f"{place}: missing"
        if problem["type"] == "extra_forbidden" and len(problem["loc"]) == 1:
            known = ", ".join(self.definition.parameters["properties"]) or "no arguments"
            return f"{place}: unknown, the tool takes {known}"
        return f"{place}: {problem['msg']}" if place else problem["msg"]


def describe_tool(function: Function, *, name: str | None = None, description: str | None = None) -> ToolSpec:
    """The tool that `function` is: a function, a bound method, a `functools.partial` or an object with `__call__`.

    Name and description are those of the function where none are given. Keywords that a partial has bound are not
    arguments of the tool. Raises `ValueError` for a name that models do not accept, `TypeError` for a signature that
    cannot be called with a JSON object or that JSON Schema cannot describe.
    """
    inner = _without_partial(function)
    name = _name_of(inner) if name is None else name
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name for a tool: it takes 1 to 64 letters, digits, underscores and hyphens")
    try:
        parameters = _parameters(function)
        fields = {f"p{index}": parameter for index, parameter in enumerate(parameters)}
        model = _model(fields, inner)
        schema = _schema(model)
    except (PydanticUserError, NameError, AttributeError, SyntaxError, TypeError, ValueError) as error:
        raise TypeError(f"the tool {name!r} cannot be described: {error}") from error
    text = _docstring_of(inner)
    documentation = read_docstring(text, [parameter.name for parameter in parameters])
    for field, parameter in fields.items():
        _add_description(schema, model.model_fields[field], documentation.parameters.get(parameter.name, ""))
    return ToolSpec(
        function=function,
        definition=ToolDefinition(name, documentation.description if description is None else description, schema),
        model=model,
        names={field: parameter.name for field, parameter in fields.items()},
        optional=frozenset(field for field, parameter in fields.items() if _has_own_default(parameter)),
    )


def _without_partial(function: Function) -> Function:
    """The function under its partials."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _name_of(function: Function) -> str:
    """A function's name, or that of the class of a callable object."""
    return str(getattr(function, "__name__", type(function).__name__))


def _docstring_of(function: Function) -> str:
    """A function's docstring, or that of the `__call__` of an object, or of its class."""
    if hasattr(function, "__name__"):
        return inspect.getdoc(function) or ""
    return inspect.getdoc(type(function).__call__) or inspect.getdoc(type(function)) or ""


def _parameters(function: Function) -> list[inspect.Parameter]:
    """The parameters that a model may give, with annotations resolved. Raises `TypeError` for one that it cannot."""
    bound = function.keywords if isinstance(function, functools.partial) else {}
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    for parameter in parameters:
        if parameter.kind in _UNCALLABLE:
            raise TypeError(_UNCALLABLE[parameter.kind].format(parameter.name))
    return [parameter for parameter in parameters if parameter.name not in bound]


def _has_own_default(parameter: inspect.Parameter) -> bool:
    """Whether Python itself fills the parameter in; a pydantic `Field` as the default is filled in by the model."""
    return parameter.default is not parameter.empty and not isinstance(parameter.default, FieldInfo)


def _model(fields: Mapping[str, inspect.Parameter], function: Function) -> type[BaseModel]:
    """The model that validates the arguments, one field for each parameter and the parameter's name as its alias."""
    definitions: dict[str, Any] = {
        field: (
            _with_alias(Any if parameter.annotation is parameter.empty else parameter.annotation, parameter.name),
            ... if parameter.default is parameter.empty else parameter.default,
        )
        for field, parameter in fields.items()
    }
    config = ConfigDict(extra="forbid", allow_inf_nan=False)
    module = getattr(function, "__module__", None) or __name__
    model: type[BaseModel] = create_model("Arguments", __config__=config, __module__=module, **definitions)
    model.model_rebuild()  # raises where a name in an annotation is still unknown
    return model


def _with_alias(annotation: Any, name: str) -> Any:
    """The annotation with a name for the field, which a `Field` of the annotation's own comes after and may replace."""
    base, *metadata = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    return Annotated[base, Field(alias=name), *metadata]


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of the arguments. Raises `ValueError` where it would not be JSON itself."""
    schema = model.model_json_schema(schema_generator=_SchemaOfArguments)
    schema.pop("title", None)
    json.dumps(schema, allow_nan=False, ensure_ascii=False).encode()
    return schema


def _add_description(schema: dict[str, Any], field: FieldInfo, text: str) -> None:
    """Describe a property in the docstring's words, unless the annotation has words of its own."""
    name = field.validation_alias
    if text and isinstance(name, str):
        schema["properties"][name].setdefault("description", text)


def _with_whole_numbers(value: Any) -> Any:
    """The same JSON value with every float that is a whole number as an integer."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, Mapping):
        return {key: _with_whole_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(item) for item in value]
    return value


class _SchemaOfArguments(GenerateJsonSchema):
    """Pydantic's schema, without words that say nothing and without claims that the validator does not hold."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - declared by pydantic

    def field_title_should_be_set(self, schema: _CoreSchema) -> bool:  # noqa: ARG002 - pydantic's signature
        """No title: it would repeat the name, and a model reads, and is paid for, every word."""
        return False

    def set_schema(self, schema: _CoreSchema) -> JsonSchemaValue:
        """A set; a value given twice is accepted, so the schema does not forbid it."""
        return _without_uniqueness(super().set_schema(schema))

    def frozenset_schema(self, schema: _CoreSchema) -> JsonSchemaValue:
        """A frozen set, likewise."""
        return _without_uniqueness(super().frozenset_schema(schema))

    def generator_schema(self, schema: _CoreSchema) -> JsonSchemaValue:
        """Refuse `Iterable`: its items would be validated only when the tool reads them."""
        return self.handle_invalid_for_json_schema(schema, "an iterable, which is checked too late: annotate a list")

    def default_schema(self, schema: _CoreSchema) -> JsonSchemaValue:
        """A value with a default; a default that has no form in JSON (NaN, say) is left out."""
        described = super().default_schema(schema)
        try:
            encode_arguments(described)
        except ArgumentsError:
            described.pop("default", None)
        return described


def _without_uniqueness(schema: JsonSchemaValue) -> JsonSchemaValue:
    """The schema of an array whose values may repeat."""
    schema.pop("uniqueItems", None)
    return schema
