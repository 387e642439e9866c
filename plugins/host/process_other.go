//go:build !unix

package host

import (
	"errors"
	"os"
	"os/exec"
)

// Without process groups only the process itself is killed.

func ownGroup(*exec.Cmd) {}

func killGroup(p *os.Process) { _ = p.Kill() }

func startGuard(int, string, []string) (func(), error) { return func() {}, errors.ErrUnsupported }
