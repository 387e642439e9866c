package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// replaceFile writes a file that is there as a whole, or not at all, after it gave the former one a
// second name. It returns that name, "" if there was no file.
func replaceFile(path, backup string, text []byte) (kept string, err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // it is gone if all went well
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", err
	}
	switch err = os.Link(path, backup); {
	case err == nil:
		kept = backup
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	if err = os.Rename(file.Name(), path); err != nil {
		return kept, err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return kept, err
	}
	return kept, errors.Join(folder.Sync(), folder.Close())
}

// holder names a process that has a file open; "" if there is none, or none that this user may look
// at.
func holder(path string) string {
	wanted, err := os.Stat(path)
	if err != nil {
		return ""
	}
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range processes {
		id := filepath.Base(process)
		if id == strconv.Itoa(os.Getpid()) {
			continue
		}
		links, _ := filepath.Glob(process + "/fd/*")
		open := slices.ContainsFunc(links, func(link string) bool {
			found, wrong := os.Stat(link)
			return wrong == nil && os.SameFile(found, wanted)
		})
		if open {
			name, _ := os.ReadFile(process + "/comm")
			return fmt.Sprintf("process %s (%s)", id, cli.Line(strings.TrimSpace(string(name))))
		}
	}
	return ""
}

// tell prints what came of a move.
func (f *accountingFlags) tell(report *moved, failed error, done string) error {
	if failed != nil {
		return failed
	}
	if f.JSON {
		return cli.JSON(os.Stdout, report)
	}
	_, err := os.Stdout.WriteString(report.words(done))
	return err
}

// number tells how many there are of something.
func number(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// mostNamed is how many names are told.
const mostNamed = 5

func listed(names []string) string {
	text := make([]string, 0, mostNamed+1)
	for _, name := range cli.First(names, mostNamed) {
		text = append(text, cli.Line(name))
	}
	if len(names) > mostNamed {
		text = append(text, "…")
	}
	return strings.Join(text, ", ")
}

// words says what came of a move, in lines.
func (m *moved) words(done string) string {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	verb := "was"
	if m.DryRun {
		verb = "would be"
	}
	line("The accounting %s %s: %s, %s, %s in use.", verb, done, number(m.Submitters, "submitter"),
		number(m.Groups, "group"), number(m.InUse, "slot"))
	line("From: %s, as of %s", m.From, time.Unix(m.Updated, 0).Format(time.RFC3339))
	line("To:   %s", m.To)
	if m.Backup != "" {
		line("What was there is in %s", m.Backup)
	}
	if len(m.Lost) > 0 {
		line("More usage, or settings that are lost, had there: %s", listed(m.Lost))
	}
	if m.LeftOut != "" {
		line("Not taken over: %s", m.LeftOut)
	}
	if m.Ignored != "" {
		line("As for HTCondor, this does not count: %s.", m.Ignored)
	}
	if m.Leases > 0 {
		line("With it: %s of a ceiling, floor or factor. HTCondor before 25.12 would not end them (25.11: only ceilings).",
			number(m.Leases, "lease"))
	}
	unknown := make([]string, 0, len(m.Unknown))
	for what, n := range m.Unknown {
		unknown = append(unknown, fmt.Sprintf("%s (%d)", what, n))
	}
	if slices.Sort(unknown); len(unknown) > 0 {
		line("Means nothing here: %s", listed(unknown))
	}
	return text.String()
}
