package workload

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Header has the lines "; Key: value" that a trace begins with. Lines of a
// repeated key are joined by "\n". The keys of the archive are explained at
// https://www.cs.huji.ac.il/labs/parallel/workload/swf.html; more may occur.
type Header map[string]string

// standardKeys returns the keys of the archive, in the order in which it writes them.
func standardKeys() []string {
	return []string{
		"Version", "Computer", "Installation", "Acknowledge", "Information", "Conversion", "MaxJobs", "MaxRecords",
		"Preemption", keyStart, "TimeZone", "TimeZoneString", "StartTime", keyEnd, keyNodes, "MaxProcs",
		"MaxRuntime", "MaxMemory", keyMemory, keyGPUs, "AllowOveruse", "MaxQueues", "Queues", "Queue", "MaxPartitions",
		"Partitions", "Partition",
	}
}

// keyStart is the key of the Unix time at which the trace starts.
const keyStart = "UnixStartTime"

// keyNodes is the key of the nodes of the machine.
const keyNodes = "MaxNodes"

// keyEnd is the key of the time at which the trace ends.
const keyEnd = "EndTime"

// keyMemory is a key of this project: MiB of the whole machine.
const keyMemory = "MachineMemory"

// nameKeys are keys of this project for labels that are not numbers. Each of their lines is a
// number and the quoted label.
var nameKeys = [4]string{"UserName", "GroupName", "ExecutableName", "QueueName"}

// Keys returns the keys that occur: those of the archive in its order, then others by name, then
// notes.
func (h Header) Keys() []string {
	standard := standardKeys()
	place := func(key string) int {
		if key == "Note" {
			return len(standard) + 1
		}
		if i := slices.Index(standard, key); i >= 0 {
			return i
		}
		return len(standard)
	}
	return slices.SortedFunc(maps.Keys(h),
		func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) })
}

// Text returns the value of a key without the remark that begins with #; "" if there is none.
func (h Header) Text(key string) string {
	value, _, _ := strings.Cut(h[key], "#")
	return strings.TrimSpace(value)
}

// Number returns the number with which the value of a key begins, such as in "338 (batch partition;
// 512 total)" or "1,024"; 0 if there is no positive one.
func (h Header) Number(key string) int64 {
	number, _ := leadingNumber(h.Text(key))
	return number
}

// leadingNumber returns the number with which a text begins; 0 if there is no positive one. Signs that
// part its digits into thousands are left out: "1,024", "1'024" and "1_024". It is not whole if more of
// it follows, as in "1.5", "4k", "1e9" and "4 000", or if it is too great.
func leadingNumber(text string) (number int64, whole bool) {
	digits := thousands.FindString(text)
	if digits == "" {
		return 0, true
	}
	if !behindNumber.MatchString(text[len(digits):]) {
		return 0, false
	}
	digits = strings.NewReplacer(",", "", "'", "", "_", "").Replace(digits)
	number, _, problem := parseNumber([]byte(digits))
	return number, problem == ""
}

var (
	thousands = regexp.MustCompile(`^(\d{1,3}(,\d{3})+\b|\d{1,3}('\d{3})+\b|\d{1,3}(_\d{3})+\b|\d+)`)
	// behindNumber matches what may follow a number: nothing, another line, or a remark that does not
	// begin with a digit, unless a comma parts them.
	behindNumber = regexp.MustCompile(`^[ \t]*($|[\n(;/=:]|-[ \t]*($|[^\d\s])|[,.]($|\s)|[ \t][^\d.,'_-])`)
)

// Names returns the names that lines such as "Queue: 3 batch" give to numbers.
func (h Header) Names(key string) map[int64]string {
	names := map[int64]string{}
	for line := range strings.SplitSeq(h[key], "\n") {
		number, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			names[n] = strings.Trim(name, "- \t")
		}
	}
	return names
}

// processors returns the processors of the machine; 0 if the header does not say.
func (h Header) processors() int64 {
	return firstPositive(h.Number("MaxProcs"), h.Number(keyNodes))
}

// Bounds of what is stored, as a small compressed file can have a header of gigabytes. Values in the
// archive have some thousand bytes, and headers some twenty keys.
const (
	maxKey   = 1 << 10 // bytes of a key
	maxValue = 64 << 10
	maxKeys  = 1000

	maxComments = 1 << 20 // bytes of all comments that are kept

	maxLabels     = 1_000_000 // of all kinds together
	maxLabelBytes = 64 << 20  // of all labels together
)

// add adds a line to a key's value, if there is room.
func (h Header) add(key, value string) {
	before, again := h[key]
	switch {
	case len(key) > maxKey:
	case again && len(before)+1+len(value) <= maxValue:
		h[key] = before + "\n" + value
	case !again && len(value) <= maxValue && len(h) < maxKeys:
		h[strings.Clone(key)] = strings.Clone(value) // not the whole line
	}
}

// headerLine splits a line of the form "; Key: value". Other comments have no key: the text before
// their colon contains blanks or is part of an address. A key of the archive is also found in capitals
// other than its own, with blanks before the colon, or with = in its place.
func headerLine(s string) (key, value string, found bool) {
	s = strings.TrimLeft(s, "; \t")
	end := strings.IndexAny(s, ":=")
	if end < 0 {
		return "", "", false
	}
	key, value = strings.TrimRight(s[:end], " \t"), strings.TrimSpace(s[end+1:])
	for _, known := range append(standardKeys(), nameKeys[:]...) {
		if strings.EqualFold(key, known) {
			return known, value, true
		}
	}
	key, value, found = strings.Cut(s, ":")
	if !found || key == "" || strings.ContainsAny(key, " \t") || strings.HasPrefix(value, "//") {
		return "", "", false
	}
	return key, strings.TrimSpace(value), true
}

// halfNumber returns the error for a number that counts and is not whole; nil if there is none. Without
// it, the digits up to the point would count: one processor of "1.5", and second 1 of "1e9".
func (c *cleaner) halfNumber(key, value string) *Error {
	switch key {
	case "MaxProcs", keyNodes:
		if c.opts.CPUs > 0 {
			return nil
		}
	case keyMemory:
		if c.opts.Memory > 0 {
			return nil
		}
	case keyGPUs:
		if c.opts.GPUs > 0 {
			return nil
		}
	case keyStart:
	default:
		return nil
	}
	value, _, _ = strings.Cut(value, "#")
	if _, whole := leadingNumber(strings.TrimSpace(value)); whole {
		return nil
	}
	return &Error{
		Problem: fmt.Sprintf("%s: %q is no whole number", key, headOf(value)),
		Hint:    "write it with digits alone, such as 1024, or delete the line",
	}
}

// comment stores a line of the header; see [headerLine]. It is an error if a number is not whole, or
// if the labels are too many.
func (c *cleaner) comment(s string) *Error {
	if jobBehind(s) {
		if c.hiddenAll++; c.hidden == 0 {
			c.hidden = c.trace.Cleaning.Lines
		}
		return nil
	}
	key, value, found := headerLine(s)
	if !found {
		return nil
	}
	if fault := c.halfNumber(key, value); fault != nil {
		return fault
	}
	if kind := slices.Index(nameKeys[:], key); kind >= 0 && c.name(kind, value) {
		if c.labelsRead > maxLabels || c.labelBytes > maxLabelBytes {
			return &Error{
				Problem: fmt.Sprintf("the header has more than %d names, or more than %d MiB of them",
					maxLabels, maxLabelBytes>>20),
				Hint: "leave out those that no job has",
			}
		}
		return nil
	}
	c.trace.Header.add(key, value)
	return nil
}

// keepComment keeps the line that is read as a comment, if the options ask for it and there is room.
func (c *cleaner) keepComment() {
	if c.commented += len(c.text); c.opts.KeepRecorded && c.commented <= maxComments {
		c.trace.Comments = append(c.trace.Comments, string(c.text))
	}
}

// name stores the label that a line such as 12 "alice" gives to a number, for one of the four kinds
// of labels. It returns false if the line has another form.
func (c *cleaner) name(kind int, line string) bool {
	number, quoted, _ := strings.Cut(line, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return false
	}
	name, err := strconv.Unquote(quoted)
	if err != nil {
		return false
	}
	if c.names[kind] == nil {
		c.names[kind] = map[int64]string{}
	}
	c.names[kind][n] = strings.Clone(name) // not the whole line
	c.labelsRead++
	c.labelBytes += len(name)
	return true
}
