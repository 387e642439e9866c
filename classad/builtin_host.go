package classad

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// The functions that need something from outside the ads; see [Scope].
var hostBuiltins = []Builtin{
	{
		Name: "random", MinArgs: 0, MaxArgs: 1, Context: true, Missing: MissingFails, fn: random,
		Doc: "Gives a random integer from 0 on and below an integer, or a real number below a real number or " +
			"1; undefined where the scope has no source of random numbers.",
		Example: `random(6) is undefined || random(6) < 6`,
	},
	{
		Name: "userMap", MinArgs: 2, MaxArgs: 4, Condor: true, Context: true, Missing: MissingAllowed, fn: userMap,
		Doc: "Gives the list of what a map has for a user, or with a third argument that of the items, else the " +
			"first; a fourth argument stands for nothing.",
		Example: `userMap("no such map", "ann", "group", "none") is "none"`,
	},
	{
		Name: "userHome", MinArgs: 1, MaxArgs: 2, Condor: true, Context: true, Missing: MissingAllowed, fn: userHome,
		Doc:     "Gives the home directory of a user, or the second argument if that is not known.",
		Example: `userHome("no such user", "/tmp") is "/tmp"`,
	},
	{
		Name: "debug", MinArgs: 1, MaxArgs: 1, Context: true, Missing: MissingAllowed, fn: debug,
		Doc:     "Gives its argument and writes a line about it where the scope wants such lines.",
		Example: `debug(1 + 1) is 2`,
	},
}

// random returns a random number below its argument, or below 1. An argument that is not positive
// fails the evaluation; as in HTCondor an integer has 32 bits.
func random(c call) Value {
	limit := realValue(1)
	if len(c.args) == 1 {
		limit = c.args[0]
	}
	n, ok := cutNumber(limit)
	switch {
	case !ok:
		return errorValue
	case limit.kind == Integer && n <= 0, limit.kind == Real && limit.asReal() <= 0:
		return c.ev.fail()
	}
	r, ok := c.ev.random()
	switch {
	case !ok:
		return undefined
	case limit.kind == Real:
		return realValue(limit.asReal() * r)
	default:
		return integer(min(max(int64(r*float64(n)), 0), int64(n)-1))
	}
}

func userMap(c call) Value {
	otherwise := undefined
	if len(c.args) == 4 {
		otherwise = c.args[3]
	}
	name, user := c.args[0], c.args[1]
	switch {
	case name.kind == Error || user.kind == Error:
		return errorValue
	case name.kind != String || user.kind != String:
		return otherwise
	}
	if !c.ev.spend((len(name.str()) + len(user.str())) / bytesPerStep) {
		return errorValue
	}
	mapped, ok := c.ev.userMap(name.str(), user.str())
	switch {
	case c.ev.failed:
		return errorValue
	case !ok:
		return otherwise
	}
	items := slices.Collect(c.items(mapped, ","))
	if len(c.args) == 2 {
		values := make([]Value, len(items))
		for i := range items {
			values[i] = text(items[i])
		}
		return listOfValues(values)
	}
	for _, item := range items {
		if c.args[2].kind == String && compareFold(item, c.args[2].str()) == 0 {
			return text(item)
		}
	}
	if len(items) == 0 {
		return otherwise
	}
	return text(items[0])
}

// userHome treats a second argument that is empty or not a string as missing.
func userHome(c call) Value {
	user, otherwise := c.args[0], c.option(1)
	if user.kind == String && c.ev.spend(len(user.str())/bytesPerStep) {
		if home, ok := c.ev.userHome(user.str()); ok {
			return text(home)
		}
	}
	switch {
	case otherwise != "":
		return text(otherwise)
	case user.kind == String || user.kind == Undefined:
		return undefined
	default:
		return errorValue
	}
}

func debug(c call) Value {
	if log := c.ev.logger(); log != nil {
		line := string(ast.Append([]byte("Classad debug: "), c.code.exprs[0], ast.Canonical)) + " --> " +
			c.args[0].String()
		if c.ev.spend(len(line) / bytesPerStep) {
			log(line)
		}
	}
	return c.args[0]
}
