package backfill

import "strings"

// DidYouMean is the end of an error about an unknown name: it asks for the known
// one that is most like it. It is empty if none is.
func DidYouMean(written string, known []string) string {
	if meant := nearest(written, known); meant != "" {
		return ", did you mean " + meant + "?"
	}
	return ""
}

// nearest is the name that is most like what was written, in whatever case; ""
// if more than half of it would have to be written anew. Of equally near ones it
// is the first.
func nearest(written string, names []string) string {
	const longest = 40 // what is longer is no misspelt name
	if len(written) > longest {
		return ""
	}
	written = strings.ToLower(written)
	best, least := "", (len(written)+1)/2+1
	for _, name := range names {
		if d := distance(written, name); d < least {
			best, least = name, d
		}
	}
	return best
}

// distance is how many letters must be put in, left out, replaced or swapped with
// their neighbour to make one text of the other (optimal string alignment).
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	d := make([][]int, len(from)+1) // between the beginnings of the two
	for i := range d {
		d[i] = make([]int, len(to)+1)
		for j := range d[i] {
			if i == 0 || j == 0 {
				d[i][j] = i + j
				continue
			}
			replaced := d[i-1][j-1]
			if from[i-1] != to[j-1] {
				replaced++
			}
			d[i][j] = min(replaced, d[i-1][j]+1, d[i][j-1]+1)
			if i > 1 && j > 1 && from[i-1] == to[j-2] && from[i-2] == to[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(from)][len(to)]
}
