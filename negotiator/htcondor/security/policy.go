package security

import (
	"fmt"
	"strings"
)

// Level is how much a side wants a feature (authentication, encryption, integrity), as in
// SEC_…_AUTHENTICATION and similar settings.
type Level string

// The levels.
const (
	Never     Level = "NEVER"
	Optional  Level = "OPTIONAL"
	Preferred Level = "PREFERRED"
	Required  Level = "REQUIRED"
)

// ParseLevel reads a level by its first letter, as HTCondor does.
func ParseLevel(text string) (Level, error) {
	for _, l := range []Level{Never, Optional, Preferred, Required} {
		if text != "" && strings.EqualFold(text[:1], string(l[:1])) {
			return l, nil
		}
	}
	return "", fmt.Errorf("%.80q: must be NEVER, OPTIONAL, PREFERRED or REQUIRED", text)
}

// agree combines two wishes: yes says whether the feature is used. The order of the two does not
// matter. It is an error if one side requires what the other refuses.
func agree(ours, theirs Level) (yes bool, err error) {
	wants := func(a Level) bool { return a == Required || a == Preferred }
	switch {
	case ours == Never && theirs == Required || ours == Required && theirs == Never:
		return false, fmt.Errorf("one side says %s, the other %s", ours, theirs)
	case ours == Never || theirs == Never:
		return false, nil
	default:
		return ours == Required || theirs == Required || wants(ours) || wants(theirs), nil
	}
}

// Wishes are one side's levels for a stream.
type Wishes struct{ Authentication, Encryption, Integrity Level }
