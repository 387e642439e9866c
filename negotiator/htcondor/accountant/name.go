package accountant

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// LongestName is the maximum length of a submitter's name, with group and domain, in bytes: a schedd
// reads no more of it, knows no submitter of the rest, and hangs up (Scheduler::negotiate in
// schedd.cpp; seen with 23.9.6). longestWords is that of other names: more than honest ones have, and
// less than what a state file can hold.
const (
	LongestName  = 199
	longestWords = 1024
)

// shownName is up to how many letters of a bad name are shown.
const shownName = 60

// CheckName judges a name of a submitter, user or accounting group, wherever it comes from: an ad, a
// command, or a file. As for HTCondor's own tools (IsValidSubmitterName), it must not have blanks; it
// must also have no more than [LongestName] bytes, and be such that [CheckWords] allows it.
func CheckName(name string) error {
	if strings.ContainsRune(name, ' ') {
		return badName(name, "it must not have blanks")
	}
	return check(name, LongestName)
}

// CheckWords judges a name that may have blanks, such as that of a project or a daemon. It is a key
// of what is kept, and shown to people: it must not be empty, have more than 1024 bytes, or have
// anything that cannot be printed in a line.
func CheckWords(name string) error { return check(name, longestWords) }

func check(name string, longest int) error {
	switch {
	case name == "":
		return errors.New("the name is missing")
	case len(name) > longest:
		return badName(name, fmt.Sprintf("it has %d bytes, and must have at most %d", len(name), longest))
	case !utf8.ValidString(name):
		return badName(name, "it must be UTF-8")
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return badName(name, "it must not have blanks but spaces, nor anything that cannot be printed")
	}
	return nil
}

func badName(name, why string) error {
	return fmt.Errorf("%q is no name: %s", backfill.Printable(name, shownName), why)
}
