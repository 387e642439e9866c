//go:build !unix

package host

import (
	"errors"
	"os"
	"os/exec"
)

// Where there are no process groups the process alone is ended.

func ownGroup(*exec.Cmd) {}

func killGroup(p *os.Process) { _ = p.Kill() }

func startGuard(int, string) (func(), error) { return func() {}, errors.ErrUnsupported }
