//go:build !unix

package host

import "os/exec"

// ownGroup does nothing where there are no process groups: the process alone is
// ended.
func ownGroup(*exec.Cmd) {}
