package classad

import (
	"regexp"
	"strings"
)

// privatePrefix begins the names of attributes that are private whatever follows.
const privatePrefix = "_condor_priv"

// Private reports whether an attribute must not be passed on: anyone who knows its value can claim a
// slot or impersonate somebody. The attributes are those that HTCondor's own printers leave out.
func Private(name string) bool {
	switch strings.ToLower(name) {
	case "claimid", "claimids", "claimidlist", "childclaimids", "capability", "transferkey", "pairedclaimid":
		return true
	default:
		return len(name) >= len(privatePrefix) && strings.EqualFold(name[:len(privatePrefix)], privatePrefix)
	}
}

// Public returns the ad without its private attributes: the ad itself if it has none, else a copy.
func Public(ad *ClassAd) *ClassAd {
	public := ad
	for name := range ad.All() {
		if !Private(name) {
			continue
		}
		if public == ad {
			public = ad.Clone()
		}
		public.Delete(name)
	}
	return public
}

// defined matches a name where a text gives it a value, in each form of ads.
//
//nolint:gochecknoglobals // a constant
var defined = regexp.MustCompile(`(?:(?:^|[\[;])\s*'?|[{,]\s*"|\sn=")([A-Za-z_]\w*)`)

// publicPart returns how many bytes of a line may be shown: those up to the value of the first private
// attribute.
func publicPart(line string) int {
	for _, at := range defined.FindAllStringSubmatchIndex(line, -1) {
		if Private(line[at[2]:at[3]]) {
			return at[3]
		}
	}
	return len(line)
}
