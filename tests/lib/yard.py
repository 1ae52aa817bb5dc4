# SPDX-License-Identifier: Apache-2.0
"""The cost of a command in yards: its processor time over that of a fixed piece of work, which runs right before and right after it.

Other work on a machine lengthens the processor time of all that runs beside it, and a slow machine that of everything: a number of
seconds says little, the quotient says the same. The yard is gcc compiling a fixed source: it branches and follows pointers as
a compiler does.
"""
import os
import resource
import subprocess
import tempfile

FUNCTIONS, TRIES = 60, 3
FUNCTION = '''
int f%(n)d(struct node *x, const int *table, int count)
{
    int sum = %(n)d;
    for (int i = 0; i < count; i++) {
        for (struct node *at = x; at; at = at->next) {
            switch ((at->kind + i) %% 7) {
            case 0: sum += table[(unsigned)(sum ^ at->value) %% 64]; break;
            case 1: at->value = sum * %(n)d + i; break;
            case 2: sum -= at->value / (i + 1); break;
            case 3: sum ^= at->value << (i & 7); break;
            case 4: at->kind = sum > at->value ? %(n)d : i; break;
            case 5: sum += at->left ? at->left->value : -1; break;
            default: sum = sum * 31 + at->kind; break;
            }
        }
    }
    return sum;
}
'''


def processor_time(command, **options):
    """Seconds of the processor of a command and what it starts, and how it ended."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, check=False, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done


class Yard:
    """The fixed piece of work, in a folder that lives as long as this object."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.source = os.path.join(self.folder.name, 'yard.c')
        with open(self.source, 'w', encoding='utf-8') as file:
            file.write('struct node { int kind, value; struct node *left, *next; };\n')
            file.writelines(FUNCTION % {'n': n} for n in range(FUNCTIONS))
        self.last = 1.0
        self.work()

    def work(self):
        seconds, done = processor_time(('gcc', '-std=c17', '-O2', '-S', '-o', os.devnull, self.source))
        assert done.returncode == 0, 'gcc cannot compile the yard'
        self.last = seconds
        return seconds

    def measure(self, command, most, **options):
        """Yards of a command, and how it ended. One that costs less than half of `most` by the last yard is not measured closer; one that
        costs more than `most` is tried again, and the least of the tries counts."""
        seconds, done = processor_time(command, **options)
        if seconds / self.last <= most / 2 or done.returncode < 0:
            return seconds / self.last, done
        best = None
        for _ in range(TRIES):
            before = self.work()
            seconds, done = processor_time(command, **options)
            yards = 2 * seconds / (before + self.work())
            best = yards if best is None else min(best, yards)
            if best <= most:
                break
        return best, done
