// Package version says which program this is: of what version, and from which commit and with which
// Go it was built.
package version

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
)

// ID identifies programs that may compute different results: a build of a committed state by its
// version, any other build by a digest of its file, as two such builds may share all else.
func ID() (string, error) {
	info, _ := debug.ReadBuildInfo()
	return id(info, openSelf)
}

// Text is what a program prints for --version. The protocol is the one that it speaks with plugins;
// "": none.
func Text(name, protocol string) string {
	info, _ := debug.ReadBuildInfo()
	return text(name, protocol, info, openSelf)
}

func id(info *debug.BuildInfo, self func() (io.ReadCloser, error)) (string, error) {
	if info != nil && strings.HasPrefix(info.Main.Version, "v") && !strings.Contains(info.Main.Version, "+") {
		return info.Main.Version, nil
	}
	file, err := self()
	if err != nil {
		return "", fmt.Errorf("read this program, to know its version: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	sum := sha256.New()
	if _, err = io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read this program, to know its version: %w", err)
	}
	return "binary sha256:" + hex.EncodeToString(sum.Sum(nil)[:6]), nil
}

func text(name, protocol string, info *debug.BuildInfo, self func() (io.ReadCloser, error)) string {
	which, err := id(info, self)
	if err != nil {
		which = fmt.Sprintf("unknown version (%v)", err)
	}
	if info == nil {
		info = &debug.BuildInfo{GoVersion: "unknown Go"}
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	commit, date := settings["vcs.revision"], settings["vcs.time"]
	switch {
	case commit == "":
		commit, date = "unknown commit (built without version control)", "unknown"
	case settings["vcs.modified"] == "true":
		commit += " (with changes that were not committed)"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n  commit   %s\n  date     %s\n  go       %s %s/%s\n", name, which, commit, date,
		info.GoVersion, settings["GOOS"], settings["GOARCH"])
	if protocol != "" {
		fmt.Fprintf(&b, "  plugins  %s\n", protocol)
	}
	return b.String()
}

// openSelf opens the running program, even if its file was replaced meanwhile.
func openSelf() (io.ReadCloser, error) {
	if file, err := os.Open("/proc/self/exe"); err == nil {
		return file, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return os.Open(self)
}
