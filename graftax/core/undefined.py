"""What a method raises that only subclasses can define."""

from graftax.core.errors import UndefinedMethodError


def undefined_error(owner: object, call: str) -> UndefinedMethodError:
    """Return the error for a method or a property that the class of an object must define, and does not.

    Args:
        owner: The object that was asked.
        call: The method as it is called, such as ``"rate(step)"``, or the name of a property.
    """
    kind = type(owner).__name__
    name, brackets, arguments = call.partition("(")
    line = f"def {name}(self, {arguments}: ..." if brackets else f"@property\ndef {name}(self): ..."
    return UndefinedMethodError(
        f"{kind}.{name}", f"{kind} must define {call}; what it extends cannot know it", line.replace("self, )", "self)")
    )
