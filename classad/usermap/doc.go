// Package usermap reads the maps of the function userMap: HTCondor's map files, as
// CLASSAD_USER_MAPFILE_<name> and CLASSAD_USER_MAPDATA_<name> name them.
//
//	m, err := usermap.Parse("groups", "* alice physics,math\n* /^(.*)@cern.ch$/ cms,\\1\n", usermap.Options{})
//	budget := classad.FewSteps
//	items, ok := m.Find(usermap.Usual, "bob@cern.ch", &budget) // cms,bob
//
// # Map files
//
// Each line has three fields with blanks between them: a method, a principal and what the principal
// is mapped to, mostly a list with commas. A field with blanks is in double quotes. Lines that are
// empty or begin with # count for nothing.
//
//   - The method is *. Lines of another one make a map of their own, which userMap finds under
//     MAP.METHOD. Case does not matter.
//   - The principal is the text itself, in which case matters, or a regular expression between
//     slashes, found anywhere in the text. After the last slash i says to ignore case, and U not to
//     be greedy. \/ stands for a slash and \\ for a backslash.
//   - \0 in the third field stands for what the principal matched, \1 to \9 for its groups.
//   - @include PATH reads a file, or a folder's files in the order of their names, as if they were
//     here. A relative path begins at the folder of the map file. Included files include nothing.
//
// The first line that matches counts. In a map of prefixes (CLASSAD_USER_MAP_PREFIX_<name>) there are
// no regular expressions: a principal matches what it is the beginning of, the longest one first.
// Files that it includes are no maps of prefixes, which is so in HTCondor.
//
// As in HTCondor, a line that cannot be read is left out, and what follows the third field counts for
// nothing; [Map.Warnings] says where that is so.
//
// # Limits
//
// A map has at most 16 MiB of text, in at most 1,000 files, and 10,000 regular expressions; a line
// has at most 64 KiB. What a search takes is counted as steps of an evaluation are, so that a job
// cannot make maps take long.
//
// Files: parse.go lines; files.go files; map.go the map, and how it is searched; maps.go several maps
// by name.
package usermap
