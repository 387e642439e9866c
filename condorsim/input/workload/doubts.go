package workload

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// withoutProcessors says that the header does not tell the processors of the machine.
func (h Header) withoutProcessors() string {
	var given []string
	for _, key := range []string{"MaxProcs", "MaxNodes"} {
		if text, there := h[key]; there {
			given = append(given, key+": "+headOf(text))
		}
	}
	if given == nil {
		return "the header has neither MaxProcs nor MaxNodes"
	}
	return fmt.Sprintf("the header says %s, which is no number of processors", strings.Join(given, " and "))
}

// signed matches what begins with a number, or is empty: 0 and less is a way to say that it is not known.
var signed = regexp.MustCompile(`^(-?\d|$)`)

// headerDoubts are warnings of what the header says and is not heeded, though it would count.
func (c *cleaner) headerDoubts() (all []string) {
	h := c.trace.Header
	for _, key := range []string{"MaxProcs", "MaxNodes", keyStart, keyMemory} {
		if key == "MaxNodes" && h.Number("MaxProcs") > 0 || !c.counts(key) {
			continue
		}
		if text := h.Text(key); !signed.MatchString(text) {
			all = append(all, fmt.Sprintf("%s: %q in the header is no number, and not heeded", key, headOf(text)))
		}
		if others := h.others(key); len(others) > 1 {
			all = append(all, fmt.Sprintf("the header has more than one %s, %s: the first counts", key,
				strings.Join(others, " and ")))
		}
	}
	if c.hidden > 0 {
		all = append(all, fmt.Sprintf("%d lines look like jobs behind a semicolon, the first is line %d: they are comments",
			c.hiddenAll, c.hidden))
	}
	return all
}

// counts reports whether the options leave it to a key of the header what the machine has.
func (c *cleaner) counts(key string) bool {
	switch key {
	case "MaxProcs", "MaxNodes":
		return c.opts.CPUs == 0
	case keyMemory:
		return c.opts.Memory == 0
	default:
		return true
	}
}

// others lists the values of a key that are numbers and differ.
func (h Header) others(key string) (values []string) {
	var numbers []int64
	for line := range strings.SplitSeq(h[key], "\n") {
		if n, _ := leadingNumber(line); n > 0 && !slices.Contains(numbers, n) {
			numbers, values = append(numbers, n), append(values, headOf(line))
		}
	}
	return values
}

// jobBehind reports whether a comment is a job line of the dialect with semicolons, behind one too many.
func jobBehind(comment string) bool {
	if strings.Count(comment, ";") < numFields {
		return false
	}
	line, fault := spaced([]byte(strings.TrimLeft(comment, "; \t")))
	var rec record
	return fault == nil && parseRecord(line, &rec) == nil
}
