package usermap_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad/usermap"
)

// enough is a budget that no search of these tests exceeds.
const enough = 1_000_000

func find(m *usermap.Map, method, name string) string {
	budget := enough
	items, ok := m.Find(method, name, &budget)
	if !ok {
		return "-"
	}
	return items
}

// TestFind: the lines mean what HTCondor's MapFile.cpp makes of them.
func TestFind(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		prefix bool
		want   map[string]string // by name, or METHOD NAME
		warns  int
	}{
		"the manual's example": {
			text: "# file: groups.mapdata\n* John  chemistry,physics,glassblowing\n* Juan  physics,chemistry\n\n" +
				"* Bob   security\n* Alice security,math\nalt Alice math,hacking\n",
			want: map[string]string{
				"John": "chemistry,physics,glassblowing", "Alice": "security,math", "ALT Alice": "math,hacking", "Eve": "-",
				"alice": "-", "alt Bob": "-",
			},
		},
		"the first line that matches": {
			text: "* ann first\n* ann second\n* /^a/ third\n* bob fourth\n* alf fifth\n",
			want: map[string]string{"ann": "first", "alf": "third", "bob": "fourth"},
		},
		"regular expressions": {
			text: "* /^(.*)@(.*)\\.org$/ \\2:\\1:\\0:\\3\\x\\\\\n* /ADM/i admin\n* /(a)|(b)/ \\1/\\2\n* /x(.*)y/U \\1\n" +
				"* /q\\/r/ slash\n* /s\\\\.t/ dot\n* /u\\dv/ digit\n",
			want: map[string]string{
				"ann@cern.org": `cern:ann:ann@cern.org:\3\x\\`, "my admin": "admin", "a": `a/\2`, "b": "/b",
				"x1y2y": "1", "q/r": "slash", "s.t": "dot", "s-t": "-", "u7v": "digit",
			},
		},
		"quotes": {
			text: `* "/C=US/CN=Ann Lee" "phys, math"` + "\n" + `* "say \"hi\" \\ \n" x` + "\n" + `"*" open "no end` + "\n",
			want: map[string]string{"/C=US/CN=Ann Lee": "phys, math", `say "hi" \ \n`: "x", "open": "no end"},
		},
		"literals have one group": {text: `* ann \0,\1` + "\n", want: map[string]string{"ann": `ann,\1`}},
		"a backslash at the end":  {text: `* ann x\`, want: map[string]string{"ann": `x\`}},
		"blanks and line ends":    {text: "\t*\tann  a,b \r\n  # note\r\n", want: map[string]string{"ann": "a,b"}},
		"prefixes": {
			text: "* s.org/ public\n* s.org/priv priv\\0\n* s.org/ other\n* /root slash\n", prefix: true,
			want: map[string]string{
				"s.org/private": "privs.org/priv", "s.org/x": "public", "x/s.org/": "-", "/rooted": "slash", "s": "-",
			},
		},
		"lines that are left out": {
			text: "* ann\n*\n* /a( x\n* /a(/ x\n* // x\n@include\n@include rel\n* bob y\n* /C=US/ST=W z\n", warns: 8,
			want: map[string]string{"bob": "y", "ann": "-", "C=US": "ST=W"},
		},
		"a list with blanks": {
			text: "* ann a, b\n* bob c # a note\n", warns: 1, want: map[string]string{"ann": "a,", "bob": "c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := usermap.Parse("groups", c.text, usermap.Options{Prefix: c.prefix})
			require.NoError(t, err)
			for key, want := range c.want {
				method, name := usermap.Usual, key
				if first, rest, two := strings.Cut(key, " "); two && strings.EqualFold(first, "alt") {
					method, name = first, rest
				}
				require.Equal(t, want, find(m, method, name), "%q", key)
			}
			require.Len(t, m.Warnings(), c.warns, "%q", m.Warnings())
		})
	}
}

// TestWarnings: a warning shows the place, and says what to do.
func TestWarnings(t *testing.T) {
	m, err := usermap.Parse("groups", "* ann a\n*\t/b(c/ x\n* bob p, q\n", usermap.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{
		"groups:2:3: this regular expression cannot be read, and the line is left out: at offset 3, missing closing " +
			"parenthesis\n*\t/b(c/ x\n \t^",
		"groups:3:10: from here on the line counts for nothing: write a list without blanks, or in double quotes\n" +
			"* bob p, q\n         ^",
	}, m.Warnings())
	m, err = usermap.Parse("groups", strings.Repeat("*\n", 100), usermap.Options{})
	require.NoError(t, err)
	require.Len(t, m.Warnings(), 21)
	require.Equal(t, "groups: and 80 more lines are wrong", m.Warnings()[20])
}

// TestFiles: a map file includes files and the files of folders, which include none.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	write("d/20", "* ann twenty\n")
	write("d/10", "* ann ten\n@include ../one\n")
	write("d/.hidden", "* eve hidden\n")
	write("d/x~", "* eve backup\n")
	write("one", "* bob one\n")
	path := write("groups", "@include one\n@include d\n@include "+filepath.Join(dir, "none")+"\n* bob two\n")
	m, err := usermap.Read(path, usermap.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"one", "ten", "-"}, []string{find(m, "*", "bob"), find(m, "*", "ann"), find(m, "*", "eve")})
	require.Len(t, m.Warnings(), 2)
	require.Contains(t, m.Warnings()[0], "10:2:10: a file that is included cannot include others")
	require.Contains(t, m.Warnings()[1], "none: no such file or directory")

	again, err := usermap.Read(path, usermap.Options{})
	require.NoError(t, err)
	set := func(m *usermap.Map) *usermap.Maps { return usermap.New(map[string]*usermap.Map{"Groups": m}) }
	require.True(t, set(m).Equal(set(again)))
	write("one", "* bob else\n")
	again, err = usermap.Read(path, usermap.Options{})
	require.NoError(t, err)
	require.False(t, set(m).Equal(set(again)), "a file that is included has changed")
	require.False(t, set(m).Equal(nil))
	require.True(t, (*usermap.Maps)(nil).Equal(usermap.New(nil)))
}

// TestPrefixesIncludeLiterals: as in HTCondor, what a map of prefixes includes is none.
func TestPrefixesIncludeLiterals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "map")
	require.NoError(t, os.WriteFile(path+".more", []byte("* b more\n"), 0o600))
	require.NoError(t, os.WriteFile(path, []byte("* a own\n@include map.more\n"), 0o600))
	m, err := usermap.Read(path, usermap.Options{Prefix: true})
	require.NoError(t, err)
	require.Equal(t, []string{"own", "more", "-"}, []string{find(m, "*", "ab"), find(m, "*", "b"), find(m, "*", "bc")})
}

// TestNoFile: what cannot be read is an error, and nobody waits for it.
func TestNoFile(t *testing.T) {
	dir := t.TempDir()
	pipe, long := filepath.Join(dir, "pipe"), filepath.Join(dir, "long")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.WriteFile(long, nil, 0o600))
	require.NoError(t, os.Truncate(long, 17<<20))
	for path, want := range map[string]string{
		pipe: "is no file", dir: "is no file", filepath.Join(dir, "none"): "no such file",
		long: "it is more than a map may have: 16 MiB of text",
	} {
		_, err := usermap.Read(path, usermap.Options{})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, path)
	}
}

// TestBounds: a map has bounds, and a name too.
func TestBounds(t *testing.T) {
	_, err := usermap.Parse("m", strings.Repeat("* /a/ b\n", 10_001), usermap.Options{})
	require.ErrorContains(t, err, "m:10001: 10001 regular expressions, which is more than a map may have")
	m, err := usermap.Parse("m", "* ann "+strings.Repeat("a", 70_000)+"\n* bob x", usermap.Options{})
	require.NoError(t, err)
	require.Len(t, m.Warnings(), 1)
	require.Contains(t, m.Warnings()[0], "the line has more than 64 KiB: it is left out")
	require.Equal(t, []string{"-", "x"}, []string{find(m, "*", "ann"), find(m, "*", "bob")})
}

// TestBudget: a search takes what it needs from the budget, and fails with less.
func TestBudget(t *testing.T) {
	for name, text := range map[string]string{
		"literal":  "* " + strings.Repeat("a", 1000) + " x\n",
		"patterns": strings.Repeat("* /b$/ x\n", 50) + "* /^(a+)$/ \\1\\1\\1\n",
		"slow":     "* /(a*)*(a|aa)*(a*)*b|a/ x\n",
		"large":    `* /a+/ "` + strings.Repeat(`\0`, 10_000) + "\"\n",
	} {
		m, err := usermap.Parse("m", text, usermap.Options{})
		require.NoError(t, err)
		user := strings.Repeat("a", 1000)
		budget := enough
		_, ok := m.Find("*", user, &budget)
		if used := enough - budget; name != "slow" {
			require.True(t, ok, name)
			require.Greater(t, used, 100, name)
			budget = used
			_, ok = m.Find("*", user, &budget)
			require.True(t, ok, name)
			require.Zero(t, budget, name)
			budget = used - 1
		} else {
			require.False(t, ok)
			require.Negative(t, budget)
			budget = 1000
		}
		_, ok = m.Find("*", user, &budget)
		require.False(t, ok, name)
		require.Negative(t, budget, name)
	}
}

func TestMaps(t *testing.T) {
	m, err := usermap.Parse("m", "* ann a\nalt ann b\n", usermap.Options{})
	require.NoError(t, err)
	all := usermap.New(map[string]*usermap.Map{"Groups": m})
	for name, want := range map[string]string{
		"groups": "a", "GROUPS.ALT": "b", "groups.*": "a", "groups.": "", "groups.no": "", "other": "", "": "", ".*": "",
	} {
		budget := enough
		items, ok := all.UserMap(name, "ann", &budget)
		require.Equal(t, want, items, name)
		require.Equal(t, want != "", ok, name)
	}
	budget := enough
	_, ok := (*usermap.Maps)(nil).UserMap("groups", "ann", &budget)
	require.False(t, ok)
}

// TestFirstLineCounts: texts as principals are found as one would look line by line.
func TestFirstLineCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOf(rapid.SampledFrom([]string{"a", "b", "ab", "/a/", "/^b/", "/b$/i"})).Draw(t, "names")
		text := strings.Builder{}
		for i, name := range names {
			fmt.Fprintf(&text, "* %s %d\n", name, i)
		}
		m, err := usermap.Parse("m", text.String(), usermap.Options{})
		require.NoError(t, err)
		for _, user := range []string{"a", "b", "ab", "AB", "c"} {
			want := "-"
			for i, name := range names {
				matches := user == name || name == "/a/" && strings.Contains(user, "a") ||
					name == "/^b/" && strings.HasPrefix(user, "b") || name == "/b$/i" && strings.HasSuffix(strings.ToLower(user), "b")
				if matches {
					want = strconv.Itoa(i)
					break
				}
			}
			require.Equal(t, want, find(m, "*", user), user)
		}
	})
}

// FuzzParse: no text of a map, and no name, breaks it or costs more than the budget.
func FuzzParse(f *testing.F) {
	f.Add("* ann a,b\nalt bob c\n# note\n", "ann", false)
	f.Add("* /^(.*)@(.*)$/iU \\2,\\1\n", "ann@cern.ch", false)
	f.Add("* \"a \\\" b\" \"c\\\\\n", `a " b`, false)
	f.Add("* s.org/ x\n* s.org/priv \\0\n", "s.org/private", true)
	f.Fuzz(func(t *testing.T, text, user string, prefix bool) {
		if strings.Contains(text, "@include") {
			t.Skip("it may read any file")
		}
		m, err := usermap.Parse("m", text, usermap.Options{Prefix: prefix})
		if err != nil {
			return
		}
		for _, w := range m.Warnings() {
			require.True(t, strings.HasPrefix(w, "m:"), w)
		}
		budget := 100_000
		items, ok := m.Find(usermap.Usual, user, &budget)
		require.LessOrEqual(t, len(items), 100_000*16+len(text))
		require.False(t, ok && budget < 0)
		again := 100_000
		same, found := m.Find(usermap.Usual, user, &again)
		require.Equal(t, []any{items, ok, budget}, []any{same, found, again})
	})
}
