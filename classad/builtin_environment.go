package classad

import (
	"maps"
	"slices"
	"strings"
)

// The functions for jobs' arguments and environments, which submit files write in two syntaxes.
var environmentBuiltins = []Builtin{
	{
		Name: "argsToList", MinArgs: 1, MaxArgs: 2, Condor: true, Missing: MissingFails, fn: argsToList,
		Doc:     "Takes a string of arguments apart; the syntax is 2, with single quotes, or 1, without.",
		Example: `argsToList("a 'b c'")[1] is "b c"`,
	},
	{
		Name: "listToArgs", MinArgs: 1, MaxArgs: 2, Condor: true, Missing: MissingFails, fn: listToArgs,
		Doc:     "Writes a list of arguments as one string; the syntax is 2, with single quotes, or 1, without.",
		Example: `listToArgs({ "a", "b c" }) is "a b' 'c"`,
	},
	{
		Name: "envV1ToV2", MinArgs: 1, MaxArgs: 1, Condor: true, fn: envV1ToV2,
		Doc:     "Writes an environment in the old syntax, A=1;B=2, in the new one.",
		Example: `envV1ToV2("B=x y;A=1") is "A=1 B=x' 'y"`,
	},
	{
		Name: "mergeEnvironment", MinArgs: 0, MaxArgs: anyNumber, Condor: true, Missing: MissingAllowed,
		fn:      mergeEnvironment,
		Doc:     "Merges environments in the new syntax; later ones win, and undefined ones are left out.",
		Example: `mergeEnvironment("A=1 B=2", undefined, "A=3") is "A=3 B=2"`,
	},
}

// syntax returns the version of the syntax that the second argument names, 1 or 2; 2 if there is no
// second argument, 0 if it is invalid.
func (c call) syntax() int {
	if len(c.args) == 1 {
		return 2
	}
	version, _ := cutNumber(integerOnly(c.args[1]))
	if version != 1 && version != 2 {
		return 0
	}
	return int(version)
}

func argsToList(c call) Value {
	s, syntax := c.args[0], c.syntax()
	if s.kind != String || syntax == 0 || !c.ev.spend(len(s.str())/quotedBytesPerStep) {
		return errorValue
	}
	args, ok := strings.FieldsFunc(s.str(), isArgBlank[rune]), true
	if syntax == 2 {
		args, ok = splitArgs(s.str())
	}
	if !ok || !c.ev.spend(stepsPerElement*len(args)) {
		return errorValue
	}
	values := make([]Value, len(args))
	for i := range args {
		values[i] = text(args[i])
	}
	return listOfValues(values)
}

const argBlanks = " \t\n\r"

func isArgBlank[T rune | byte](c T) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// splitArgs reads the new syntax: arguments are separated by blanks; single quotes may enclose
// parts of them, and two quotes within such a part stand for one. ok is false if a quote is not
// closed.
func splitArgs(s string) (args []string, ok bool) {
	var arg []byte
	started := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'':
			started = true
			for i++; ; i++ {
				if i == len(s) {
					return nil, false
				}
				if s[i] == '\'' {
					if i+1 == len(s) || s[i+1] != '\'' {
						break
					}
					i++
				}
				arg = append(arg, s[i])
			}
		case !isArgBlank(c):
			started = true
			arg = append(arg, c)
		case started:
			args = append(args, string(arg))
			arg, started = arg[:0], false
		}
	}
	if started {
		args = append(args, string(arg))
	}
	return args, true
}

func listToArgs(c call) Value {
	syntax := c.syntax()
	var b []byte
	ok := syntax != 0
	isList := c.each(c.args[0], func(v Value) bool {
		ok = ok && v.kind == String && c.ev.spend(len(v.str())/quotedBytesPerStep)
		switch {
		case !ok:
		case syntax == 2:
			b = appendArg(b, v.str())
		case strings.ContainsAny(v.str(), argBlanks):
			ok = false // the old syntax cannot express it
		default:
			b = append(separated(b), v.str()...)
		}
		return ok
	})
	if !isList || !ok {
		return errorValue
	}
	return c.ev.built(string(b))
}

func separated(b []byte) []byte {
	if len(b) > 0 {
		b = append(b, ' ')
	}
	return b
}

// appendArg appends an argument in the new syntax, with quotes around every run of blanks and
// quotes.
func appendArg(b []byte, arg string) []byte {
	b = separated(b)
	if arg == "" {
		return append(b, "''"...)
	}
	quoted := false
	for _, c := range []byte(arg) {
		special := c == '\'' || isArgBlank(c)
		if special != quoted {
			b = append(b, '\'')
			quoted = special
		}
		if c == '\'' {
			b = append(b, '\'')
		}
		b = append(b, c)
	}
	if quoted {
		b = append(b, '\'')
	}
	return b
}

// environment maps variables to values. An entry that HTCondor expands later, $$(x), is a variable
// without a value.
type environment map[string]*string

// set adds an entry "variable=value"; false if it is malformed.
func (e environment) set(entry string) bool {
	name, value, ok := strings.Cut(entry, "=")
	switch {
	case !ok && strings.Contains(entry, "$$"):
		e[entry] = nil
		return true
	case !ok || name == "":
		return false
	default:
		e[name] = &value
		return true
	}
}

// value returns the environment in the new syntax, sorted by name.
func (e environment) value(c call) Value {
	var b []byte
	for _, name := range slices.Sorted(maps.Keys(e)) {
		entry := name
		if value := e[name]; value != nil {
			entry += "=" + *value
		}
		b = appendArg(b, entry)
	}
	return c.ev.built(string(b))
}

// delimiters are the characters that may begin an environment in the old syntax to replace the
// semicolon as its separator.
const delimiters = "!#$%&*+,-/:;<>?@^`|~\x1f"

func envV1ToV2(c call) Value {
	if c.args[0].kind != String || !c.ev.spend(len(c.args[0].str())/quotedBytesPerStep) {
		return errorValue
	}
	s, delimiter := c.args[0].str(), byte(';')
	if s != "" && strings.IndexByte(delimiters, s[0]) >= 0 {
		s, delimiter = s[1:], s[0]
	}
	e := environment{}
	for s != "" {
		s = strings.TrimLeft(s, argBlanks)
		end := strings.IndexAny(s, "\n"+string(rune(delimiter)))
		entry := s
		if end >= 0 {
			entry, s = s[:end], s[end+1:]
		} else {
			s = ""
		}
		if entry != "" && (!c.ev.spend(stepsPerEntry) || !e.set(entry)) {
			return errorValue
		}
	}
	return e.value(c)
}

func mergeEnvironment(c call) Value {
	e := environment{}
	for _, a := range c.args {
		if a.kind == Undefined {
			continue
		}
		if a.kind != String || !c.ev.spend(len(a.str())/quotedBytesPerStep) {
			return errorValue
		}
		entries, ok := splitArgs(a.str())
		for _, entry := range entries {
			ok = ok && c.ev.spend(stepsPerEntry) && e.set(entry)
		}
		if !ok {
			return errorValue
		}
	}
	return e.value(c)
}
