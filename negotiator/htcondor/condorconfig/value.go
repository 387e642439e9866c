package condorconfig

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// Error is an invalid value of a knob.
type Error struct {
	Knob, Value, Rule string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s = %s: must be %s", e.Knob, e.Value, e.Rule)
}

// Text returns the knob's value, or its default.
func (c *Config) Text(name string) string {
	if value, ok := c.Lookup(name); ok {
		return value
	}
	if k, known := knobNamed(name); known {
		return c.expanded(k.KnobDefault)
	}
	return ""
}

// macro is a reference to another knob in a default.
var macro = regexp.MustCompile(`\$\(\w+\)`)

// List returns the value of a knob that is a list, separated by commas or blanks.
func (c *Config) List(name string) []string { return split(c.Text(name)) }

func split(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' })
}

// pair matches the first of several NAME=VALUE, of which a value with commas or blanks is in quotes.
var pair = regexp.MustCompile(`^[, \t\n]*([^,= \t\n"]+)=(?:"([^"]*)"|([^, \t\n"]*))([, \t\n]+|$)`)

// Pairs returns the value of a knob that lists NAME=VALUE, separated by commas or blanks. A value that
// has some itself is in double quotes.
func (c *Config) Pairs(name string) (map[string]string, error) {
	all := map[string]string{}
	for rest := strings.TrimSpace(c.Text(name)); rest != ""; {
		found := pair.FindStringSubmatch(rest)
		if found == nil {
			return nil, &Error{
				name, rest, `NAME=VALUE, several of them separated by blanks, or NAME="VALUE" if the value has blanks or commas`,
			}
		}
		all[found[1]], rest = found[2]+found[3], rest[len(found[0]):]
	}
	return all, nil
}

// Bool returns the value of a knob: true, t, yes or y; false, f, no or n; a number (0 is false); or
// an expression that is true, false or a number. Any other value, or none, is an error.
func (c *Config) Bool(name string) (bool, error) {
	text := c.Text(name)
	v := evaluated(text)
	if b, ok := v.Bool(); ok {
		return b, nil
	}
	if n, ok := v.Number(); ok {
		return n != 0, nil
	}
	switch strings.ToLower(text) {
	case "yes", "t", "y":
		return true, nil
	case "no", "f", "n":
		return false, nil
	}
	return false, &Error{name, text, "true or false"}
}

// Int returns the value of a knob that is a whole number from 0 to 2³¹-1, or an expression for one.
func (c *Config) Int(name string) (int64, error) {
	text := c.Text(name)
	n, ok := evaluated(text).Number()
	if !ok || n != math.Trunc(n) || n < 0 || n > math.MaxInt32 {
		return 0, &Error{name, text, "a whole number from 0 to " + strconv.Itoa(math.MaxInt32)}
	}
	return int64(n), nil
}

// Seconds returns the value of a knob that is a length of time in seconds.
func (c *Config) Seconds(name string) (time.Duration, error) {
	n, err := c.Int(name)
	if err != nil {
		return 0, &Error{name, c.Text(name), "a whole number of seconds, at least 0"}
	}
	return time.Duration(n) * time.Second, nil
}

// LogSize returns the value of a knob that says when a log begins a new file: at a size, such as 10 Mb,
// or after a time, such as 1 day. Units are read as HTCondor does: m are minutes, M are megabytes.
func (c *Config) LogSize(name string) (bytes int64, every time.Duration, err error) {
	text := c.Text(name)
	if found := logSize.FindStringSubmatch(text); found != nil {
		n, failed := strconv.ParseInt(found[1], 10, 64)
		i := slices.IndexFunc(logUnits, func(u logUnit) bool { return u.name.MatchString(found[2]) })
		if failed == nil && i >= 0 && n <= logUnits[i].most() {
			return n * logUnits[i].bytes, time.Duration(n) * logUnits[i].time, nil
		}
	}
	return 0, 0, &Error{name, text, "a size such as 10 Mb, or a time such as 1 day"}
}

// logUnit is a unit of sizes, in bytes, or of times.
type logUnit struct {
	name  *regexp.Regexp
	bytes int64
	time  time.Duration
}

// most returns the largest number of such units.
func (u logUnit) most() int64 { return math.MaxInt64 / max(u.bytes, int64(u.time)) }

var (
	logSize  = regexp.MustCompile(`^(\d+)\s*([A-Za-z]*)$`)
	logUnits = []logUnit{ // the first whose name matches
		{regexp.MustCompile(`^$|^[bB]`), 1, 0},
		{regexp.MustCompile(`^[kK]`), 1 << 10, 0},
		{regexp.MustCompile(`^M$|^(?i:mi?b)`), 1 << 20, 0},
		{regexp.MustCompile(`^[gG]`), 1 << 30, 0},
		{regexp.MustCompile(`^[tT]`), 1 << 40, 0},
		{regexp.MustCompile(`^[sS]`), 0, time.Second},
		{regexp.MustCompile(`^m$|^(?i:mi)`), 0, time.Minute},
		{regexp.MustCompile(`^[hH]`), 0, time.Hour},
		{regexp.MustCompile(`^[dD]`), 0, 24 * time.Hour},
		{regexp.MustCompile(`^[wW]`), 0, 7 * 24 * time.Hour},
	}
)

// evaluated returns the value of an expression, which is undefined if the text cannot be parsed.
func evaluated(text string) classad.Value {
	e, err := classad.ParseExpr(text)
	if err != nil {
		return classad.Value{}
	}
	return e.Eval(classad.Scope{MaxSteps: classad.FewSteps})
}

// checkExpression errs if a knob's value is no expression, or is a rank that takes too many steps even
// without ads.
func checkExpression(k config.Setting, text string) error {
	e, err := classad.ParseExpr(text)
	if err != nil {
		return &Error{k.Knob, text, "an expression: " + err.Error()}
	}
	var m classad.Meter
	if e.Eval(classad.Scope{MaxSteps: classad.FewSteps, Meter: &m}); k.Kind == config.Rank && m.Exceeded() > 0 {
		return &Error{k.Knob, text, fmt.Sprintf("an expression that takes at most %d steps to evaluate", classad.FewSteps)}
	}
	return nil
}

// Check returns an error that names every knob in [Knobs] with an invalid value.
func (c *Config) Check() error {
	var errs []error
	for _, k := range Knobs() {
		if _, set := c.Lookup(k.Knob); c.Text(k.Knob) == "" || !set && other.MatchString(k.KnobDefault) {
			continue
		}
		var err error
		switch k.Kind {
		case config.Bool:
			_, err = c.Bool(k.Knob)
		case config.Whole:
			_, err = c.Int(k.Knob)
		case config.Seconds:
			_, err = c.Seconds(k.Knob)
		case config.LogSize:
			_, _, err = c.LogSize(k.Knob)
		case config.Pairs:
			_, err = c.Pairs(k.Knob)
		case config.Expression, config.Rank:
			err = checkExpression(k, c.Text(k.Knob))
		case config.Text, config.List:
		}
		errs = append(errs, err)
	}
	_, errExprs := c.MatchExprs()
	_, errMaps := c.UserMaps()
	return errors.Join(append(errs, errExprs, errMaps)...)
}
