"""Tables of settings as pydantic knows them: for values that have to be converted or explained.

Each table has a twin, a pydantic model with the same fields, from which the table is made.
"""

from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic_core import core_schema

from .table import Settings

Table = TypeVar("Table", bound=Settings)


class StrictModel(BaseModel):
    """The base class of what is stored in files: frozen, and unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


# Made once for each table that they are needed for.
TWINS = dict[type[Settings], type[StrictModel]]()
ADAPTERS = dict[type[Settings], TypeAdapter[Any]]()


def make_twin(table: type[Settings]) -> type[StrictModel]:
    """Return the pydantic model with the fields of a table, but without its rules."""
    if table in TWINS:
        return TWINS[table]
    fields: dict[str, Any] = {}
    for name, field in table.list_fields().items():
        kind = field.annotation
        if field.check:
            kind = Annotated[kind, AfterValidator(_unless_none(field.check))]
        message = field.description or None
        fields[name] = kind, Field(field.default, description=message, **field.limits)
    name, says = table.__name__, table.__doc__
    TWINS[table] = create_model(name, __base__=StrictModel, __doc__=says, **fields)
    return TWINS[table]


def _unless_none(check: Any) -> Any:
    return lambda value: None if value is None else check(value)


def make_schema(table: type[Settings], handler: Any) -> Any:
    """Return how pydantic reads a table: the rule before, the twin, the table of its values."""

    def make(twin: StrictModel) -> Settings:
        return table.make({name: getattr(twin, name) for name in twin.model_fields_set})

    def read(value: Any, inner: Any) -> Any:
        if isinstance(value, table):
            return value
        return inner(table.fill_in(value) if isinstance(value, dict) else value)

    schema = core_schema.no_info_after_validator_function(
        make, handler.generate_schema(make_twin(table))
    )
    written = core_schema.plain_serializer_function_ser_schema(_dump, info_arg=True)
    name = f"{table.__module__}.{table.__name__}:{id(table)}"  # by which JSON schemas refer to it
    return core_schema.no_info_wrap_validator_function(
        read, schema, ref=name, serialization=written
    )


def _dump(table: Settings, info: Any) -> dict[str, Any]:
    options = {name: getattr(info, name) for name in ("mode", "exclude_none", "exclude_unset")}
    return table.model_dump(**options)


def validate_table(table: type[Table], raw: Any) -> Table:
    """Return the table of any value. Raise pydantic's ValidationError if it is none."""
    if table not in ADAPTERS:
        ADAPTERS[table] = TypeAdapter(table)
    result: Table = ADAPTERS[table].validate_python(raw)
    return result
