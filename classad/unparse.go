package classad

// String is the canonical bracket form "[ a = 1; bb = x + 1 ]": short names first, then by name ignoring case.
func (ad *ClassAd) String() string { return ad.Format(Brackets) }

// Long is the line form: "name = expression" and a line feed for each attribute, by name, capital letters first.
func (ad *ClassAd) Long() string { return ad.Format(Lines) }
