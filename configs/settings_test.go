package configs_test

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// The lines between which a file holds what is written from the table of settings.
const (
	from  = "From here on it is written by UPDATE=1 go test ./configs from the table in negotiator/config."
	until = "Until here."
)

// TestSettingsInFiles compares the files for users with the table of settings, or writes them
// (UPDATE=1).
func TestSettingsInFiles(t *testing.T) {
	for _, file := range []struct{ path, mark, text string }{
		{"negotiator.yaml", "# %s\n", inYAML()},
		{"htcondor/backfill.conf", "# %s\n", inHTCondor()},
		{"../negotiator/htcondor/KNOBS.md", "<!-- %s -->\n", inMarkdown()},
	} {
		now, err := os.ReadFile(file.path)
		require.NoError(t, err)
		head, rest, ok := strings.Cut(string(now), fmt.Sprintf(file.mark, from))
		require.True(t, ok, "%s has no line: %s", file.path, from)
		_, tail, ok := strings.Cut(rest, fmt.Sprintf(file.mark, until))
		require.True(t, ok, "%s has no line: %s", file.path, until)
		text := head + fmt.Sprintf(file.mark, from) + file.text + fmt.Sprintf(file.mark, until) + tail
		if os.Getenv("UPDATE") == "1" {
			require.NoError(t, os.WriteFile(file.path, []byte(text), 0o644))
			continue
		}
		require.Equal(t, text, string(now), "%s: write it with UPDATE=1 go test ./configs", file.path)
	}
}

// inYAML writes every key with its default, and the examples.
func inYAML() string {
	var text strings.Builder
	mapping := ""
	for _, section := range config.Sections() {
		fmt.Fprintf(&text, "\n# == %s\n", section.Title)
		for _, s := range section.Settings {
			parent, key, nested := strings.Cut(s.Key, ".")
			indent := ""
			if nested {
				indent = "  "
			}
			if nested && parent != mapping {
				mapping = parent
				text.WriteString(parent + ":\n")
			}
			key = cmp.Or(key, parent)
			if key == "" {
				continue
			}
			onReal := ""
			if s.OnReal != nil {
				onReal = " On a real pool it is " + config.YAMLText(s.OnReal) + " where nothing is said."
			}
			comment(&text, indent, s, onReal)
			if !s.Absent {
				fmt.Fprintf(&text, "%s%s: %s\n", indent, key, config.YAMLText(s.Default))
			}
			if s.Example != nil {
				fmt.Fprintf(&text, "#%s%s: %s\n", indent, key, config.YAMLText(s.Example))
			}
		}
	}
	return text.String() + "\n"
}

// inHTCondor writes every knob of ours with its default, or with an example where it has none.
func inHTCondor() string {
	var text strings.Builder
	for _, section := range config.Sections() {
		title := "\n# == " + section.Title + "\n"
		for _, s := range section.Settings {
			if !strings.HasPrefix(s.Knob, "BACKFILL_") {
				continue
			}
			text.WriteString(title)
			title = ""
			unit := ""
			if s.Kind == config.Seconds {
				unit = " In seconds."
			}
			comment(&text, "", s, unit)
			if s.KnobDefault != "" {
				fmt.Fprintf(&text, "%s = %s\n", s.Knob, s.KnobDefault)
			} else {
				fmt.Fprintf(&text, "#%s = %s\n", s.Knob, config.KnobText(s.Example))
			}
		}
	}
	return text.String() + "\n"
}

// inMarkdown writes a table of our knobs.
func inMarkdown() string {
	var text strings.Builder
	text.WriteString("\n| knob | key in the YAML file | kind | default | changes at |\n|---|---|---|---|---|\n")
	for _, s := range config.Settings() {
		if !strings.HasPrefix(s.Knob, "BACKFILL_") {
			continue
		}
		at := "reload"
		if s.Restart {
			at = "restart"
		}
		fmt.Fprintf(&text, "| `%s` | %s | %s | %s | %s |\n", s.Knob, code(s.Key), s.Kind, code(s.KnobDefault), at)
	}
	return text.String() + "\n"
}

func code(text string) string {
	if text == "" {
		return "–"
	}
	return "`" + text + "`"
}

// comment writes what a setting is for, in lines of at most 96 columns.
func comment(text *strings.Builder, indent string, s config.Setting, more string) {
	all := s.Doc + more
	if s.More != "" {
		all += " " + s.More
	}
	if s.Restart {
		all += " Only a restart changes it."
	}
	line := indent + "#"
	for word := range strings.FieldsSeq(all) {
		if len(line)+1+len(word) > 96 {
			text.WriteString(line + "\n")
			line = indent + "#"
		}
		line += " " + word
	}
	text.WriteString(line + "\n")
}
