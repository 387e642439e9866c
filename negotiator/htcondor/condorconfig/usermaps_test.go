package condorconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUserMaps(t *testing.T) {
	file := filepath.Join(t.TempDir(), "groups.map")
	require.NoError(t, os.WriteFile(file, []byte("* ann physics\n* bob\n* /^x/ many\n"), 0o600))
	missing := file + ".none"
	const list = "NEGOTIATOR_CLASSAD_USER_MAP_NAMES = "
	for name, c := range map[string]struct {
		dump     string
		want     map[string]string // by MAP USER
		warnings []string
		err      string
	}{
		"none": {dump: "CLASSAD_USER_MAPFILE_Groups = " + missing, want: map[string]string{"groups ann": "-"}},
		"in a file": {
			dump:     list + "Groups\nCLASSAD_USER_MAPFILE_Groups = " + file,
			want:     map[string]string{"groups ann": "physics", "GROUPS x1": "many", "groups bob": "-"},
			warnings: []string{file + ":2:6: the line is left out"},
		},
		"in a knob": {
			dump: list + "Trust\nCLASSAD_USER_MAPDATA_Trust @=end\n  * Bob User\n  * /.*/ Nobody\n@end\n",
			want: map[string]string{"trust Bob": "User", "trust eve": "Nobody"},
		},
		"file first": {
			dump: list + "a\nCLASSAD_USER_MAPFILE_a = " + file + "\nCLASSAD_USER_MAPDATA_a = * ann data",
			want: map[string]string{"a ann": "physics"}, warnings: []string{"left out"},
		},
		"several": {
			dump: list + "a, b c\nCLASSAD_USER_MAPDATA_A = * ann one\nCLASSAD_USER_MAPDATA_b = * an two\n" +
				"CLASSAD_USER_MAP_PREFIX_b = true",
			want:     map[string]string{"a ann": "one", "b ann": "two", "c ann": "-"},
			warnings: []string{"lists c, and neither CLASSAD_USER_MAPFILE_c nor CLASSAD_USER_MAPDATA_c is set: userMap finds"},
		},
		"the negotiator's own": {
			dump: list + "a\nNEGOTIATOR.CLASSAD_USER_MAPDATA_a = * ann own\nCLASSAD_USER_MAPDATA_a = * ann all",
			want: map[string]string{"a ann": "own"},
		},
		"maps of the negotiator's": {
			dump: list + "GROUP_PREFIX PRIORITY_FACTOR_AUTHORIZATION\nCLASSAD_USER_MAPDATA_GROUP_PREFIX = * cern.ch cms\n" +
				"CLASSAD_USER_MAPDATA_PRIORITY_FACTOR_AUTHORIZATION = * ann@test cms",
			warnings: []string{"lists GROUP_PREFIX, which only userMap heeds here", "only administrators"},
		},
		"no file": {
			dump: list + "a\nCLASSAD_USER_MAPFILE_a = " + missing + "\n # at: /etc/condor/config.d/10-maps, line 7",
			err: "CLASSAD_USER_MAPFILE_a (/etc/condor/config.d/10-maps, line 7): open " + missing +
				": no such file or directory: it must be a map file that the negotiator can read, " +
				"as NEGOTIATOR_CLASSAD_USER_MAP_NAMES lists a",
		},
		"a relative path": {
			dump: list + "a\nCLASSAD_USER_MAPFILE_a = x", err: "CLASSAD_USER_MAPFILE_a = x: must be a path that begins with /",
		},
		"no boolean": {
			dump: list + "a\nCLASSAD_USER_MAP_PREFIX_a = perhaps",
			err:  "CLASSAD_USER_MAP_PREFIX_a = perhaps: must be true or false",
		},
		"too many": {dump: list + strings.Repeat("a ", 101), err: "lists 101 maps: at most 100"},
	} {
		t.Run(name, func(t *testing.T) {
			site := Parse(c.dump, "")
			maps, err := site.UserMaps()
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				require.ErrorContains(t, site.Check(), c.err)
				return
			}
			require.NoError(t, err)
			require.NoError(t, site.Check())
			for key, want := range c.want {
				name, user, _ := strings.Cut(key, " ")
				budget := 1000
				items, ok := maps.UserMap(name, user, &budget)
				if !ok {
					items = "-"
				}
				require.Equal(t, want, items, key)
			}
			warnings := site.Warnings()
			require.Len(t, warnings, len(c.warnings), "%q", warnings)
			for i, want := range c.warnings {
				require.Contains(t, warnings[i], want)
			}
		})
	}
}
