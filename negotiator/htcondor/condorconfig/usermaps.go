package condorconfig

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/condor-backfill/condor-backfill/classad/usermap"
)

// The knobs about the maps of the function userMap. All but the first have a map's name at the end.
const (
	mapNames  = "NEGOTIATOR_CLASSAD_USER_MAP_NAMES"
	mapFile   = "CLASSAD_USER_MAPFILE_"
	mapData   = "CLASSAD_USER_MAPDATA_"
	mapPrefix = "CLASSAD_USER_MAP_PREFIX_"
)

// mapsNotHeeded are the maps that HTCondor's negotiator uses itself, and what is so instead.
var mapsNotHeeded = map[string]string{
	"GROUP_PREFIX": "submitters keep their names; give their jobs an AccountingGroup, for instance by a transform of " +
		"their schedd",
	"PRIORITY_FACTOR_AUTHORIZATION": "only administrators (ALLOW_ADMINISTRATOR) set priority factors",
}

// mostMaps bounds how many maps are listed.
const mostMaps = 100

// userMaps are the maps as they were when somebody first asked for them.
type userMaps struct {
	read     sync.Once
	maps     *usermap.Maps
	warnings []string
	err      error
}

// UserMaps returns the maps that NEGOTIATOR_CLASSAD_USER_MAP_NAMES lists. It reads their files at the
// first call. The error names all that cannot be read.
func (c *Config) UserMaps() (*usermap.Maps, error) {
	u := &c.userMaps
	u.read.Do(func() { u.maps, u.warnings, u.err = c.readUserMaps() })
	return u.maps, u.err
}

func (c *Config) readUserMaps() (all *usermap.Maps, warnings []string, err error) {
	names := c.List(mapNames)
	if len(names) > mostMaps {
		return nil, nil, fmt.Errorf("%s lists %d maps: at most %d", mapNames, len(names), mostMaps)
	}
	named := map[string]*usermap.Map{}
	var errs []error
	for _, name := range names {
		one, err := c.userMap(name)
		switch {
		case err != nil:
			errs = append(errs, err)
		case one == nil:
			warnings = append(warnings, fmt.Sprintf("%s lists %s, and neither %s%s nor %s%s is set: userMap finds nothing "+
				"in that map", mapNames, name, mapFile, name, mapData, name))
		default:
			named[name] = one
			warnings = append(warnings, one.Warnings()...)
		}
	}
	for _, name := range names {
		if note := mapsNotHeeded[name]; note != "" {
			warnings = append(warnings, mapNames+" lists "+name+", which only userMap heeds here: "+note)
		}
	}
	return usermap.New(named), warnings, errors.Join(errs...)
}

// userMap reads one map; nil if no knob says where it is.
func (c *Config) userMap(name string) (m *usermap.Map, err error) {
	var o usermap.Options
	if _, set := c.Lookup(mapPrefix + name); set {
		if o.Prefix, err = c.Bool(mapPrefix + name); err != nil {
			return nil, err
		}
	}
	path, inFile := c.Lookup(mapFile + name)
	text, here := c.Lookup(mapData + name)
	switch {
	case inFile && !filepath.IsAbs(path):
		return nil, &Error{mapFile + name, path, "a path that begins with /"}
	case inFile:
		if m, err = usermap.Read(path, o); err != nil {
			where, _ := c.Setting(mapFile + name)
			err = fmt.Errorf("%s%s: %w: it must be a map file that the negotiator can read, as %s lists %s",
				mapFile+name, place(where), err, mapNames, name)
		}
	case here:
		m, err = usermap.Parse(mapData+name, text, o)
	}
	return m, err
}

// place names where a setting is written; "" if that is not known.
func place(s Setting) string {
	if s.Source == "" || strings.HasPrefix(s.Source, "<") {
		return ""
	}
	return " (" + s.Source + ")"
}

// userMapWarnings says what is wrong with maps and does not keep them from being used.
func (c *Config) userMapWarnings() []string {
	_, _ = c.UserMaps() // Check says what cannot be read
	return c.userMaps.warnings
}
