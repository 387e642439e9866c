//go:build !linux

package host

import "syscall"

const canLimit = false

func limit(int, int64) error { return nil }

func endWithThread(*syscall.SysProcAttr) {}
