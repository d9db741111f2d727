"""KeyboardInterrupt at each place of a call where Python handles signals: after calls, in loops, as functions begin."""

import dis
import gc
import sys

# Python looks for signals after these instructions, and nowhere else.
_AFTER = {
    "RESUME",
    "JUMP_BACKWARD",
    "JUMP_ABSOLUTE",
    "POP_JUMP_BACKWARD_IF_TRUE",
    "POP_JUMP_BACKWARD_IF_FALSE",
}


def _handles_signals(name):
    return name in _AFTER or (name.startswith("CALL") and "INTRINSIC" not in name)


class _Tracer:
    """Count the places where signals are handled, and raise KeyboardInterrupt at one of them."""

    def __init__(self, place):
        self.place, self.count = place, 0

    def __call__(self, frame, event, _):
        frame.f_trace_opcodes = True
        last = ["RESUME"]

        def trace(frame, event, _):
            if event != "opcode":
                return trace
            before, last[0] = last[0], dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if _handles_signals(before):
                self.count += 1
                if self.count == self.place:
                    raise KeyboardInterrupt
            return trace

        return trace


def interrupted(call, place):
    """Make a call and raise KeyboardInterrupt at a place, from 1; return how many were met, and if it was raised."""
    tracer, before, raised = _Tracer(place), sys.gettrace(), False
    gc.disable()  # what it calls would count, and lose the interrupt
    sys.settrace(tracer)
    try:
        call()
    except KeyboardInterrupt:
        raised = True
    finally:
        sys.settrace(before)
        gc.enable()
    return tracer.count, raised


def places(count, most):
    """Return all places of so many, or about `most` of them, evenly spread."""
    return range(1, count + 1, -(-count // most))
