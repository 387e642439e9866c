package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
)

// programVersion identifies programs that may compute different results: a release by its version,
// any other build by a digest of its file.
func programVersion() (string, error) {
	info, ok := debug.ReadBuildInfo()
	if ok && strings.HasPrefix(info.Main.Version, "v") && !strings.Contains(info.Main.Version, "+") {
		return info.Main.Version, nil
	}
	file, err := openSelf()
	if err != nil {
		return "", fmt.Errorf("read this program, to know its version: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	sum := sha256.New()
	if _, err = io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read this program, to know its version: %w", err)
	}
	return "devel-" + hex.EncodeToString(sum.Sum(nil)[:6]), nil
}

// openSelf opens the running program, even if its file was replaced meanwhile.
func openSelf() (*os.File, error) {
	if file, err := os.Open("/proc/self/exe"); err == nil {
		return file, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return os.Open(self)
}
