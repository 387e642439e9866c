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

// programVersion tells programs apart that may compute different results: a
// release by its version, any other build by what it is made of.
func programVersion() (string, error) {
	info, ok := debug.ReadBuildInfo()
	if ok && strings.HasPrefix(info.Main.Version, "v") && !strings.Contains(info.Main.Version, "+") {
		return info.Main.Version, nil
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program, to know its version: %w", err)
	}
	file, err := os.Open(self)
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
