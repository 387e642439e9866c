package host

import (
	"os"
	"slices"
	"strings"
)

// passed are the variables of the host's environment that every plugin gets, besides those for
// languages (LC_…): where programs, files and the time are found, and settings of Go's runtime.
// All others may hold secrets of the host.
var passed = []string{
	"PATH", "LANG", "LANGUAGE", "TZ", "TMPDIR",
	"GOCOVERDIR", "GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "GOTRACEBACK",
}

// Environment returns the part of this process' environment that plugins get: a short list, and the
// variables with the given names.
func Environment(more []string) []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return !strings.HasPrefix(name, "LC_") && !slices.Contains(passed, name) && !slices.Contains(more, name)
	})
}
