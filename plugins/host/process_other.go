//go:build !unix

package host

import (
	"os"
	"os/exec"
	"time"
)

// Without process groups only the process itself is killed.

func ownGroup(*exec.Cmd) {}

func killGroup(p *os.Process) { _ = p.Kill() }

func startGuard(*exec.Cmd, string) (func(), error) { return func() {}, nil }

// credential is the user of this process.
type credential struct{}

func identity(string) (credential, string, error) { return credential{}, "", nil }

func (credential) run(*exec.Cmd)                     {}
func (credential) own(string) error                  { return nil }
func (credential) barrier(string) string             { return "" }
func (credential) explain(err error, _ string) error { return err }

func hold(string) *os.File { return nil }

func sweep(string, time.Time) {}

func removeAll(dir string) error { return os.RemoveAll(dir) }
