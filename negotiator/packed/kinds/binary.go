package kinds

import "bytes"

// NoText returns the kind of a file that no editor shows, such as an archive, by how it begins; nil if
// it may be text.
func NoText(head []byte) *Kind { return last(noTexts(), head) }

// noTexts are files that no editor shows: general kinds first.
func noTexts() []*Kind { return append([]*Kind{binary, utf16}, archives()...) }

// magic is a kind of file that has certain bytes at an offset.
func magic(holds, instead string, at int, bytesThere ...string) *Kind {
	return &Kind{Holds: holds, Jobs: instead, Slots: instead, recognises: func(head []byte) bool {
		if len(head) < at {
			return false
		}
		for _, b := range bytesThere {
			if bytes.HasPrefix(head[at:], []byte(b)) {
				return true
			}
		}
		return false
	}}
}

// archives are compressed files, archives and other files that no editor shows.
func archives() []*Kind {
	const recompress = "decompress it, or compress it with gzip, xz or zstd"
	return []*Kind{
		magic("a file compressed with bzip2", recompress, 0,
			"BZh1", "BZh2", "BZh3", "BZh4", "BZh5", "BZh6", "BZh7", "BZh8", "BZh9"),
		magic("a file compressed with lz4", recompress, 0, "\x04\x22\x4d\x18"),
		magic("a file compressed with lzip", recompress, 0, "LZIP"),
		magic("a file compressed with compress", recompress, 0, "\x1f\x9d"),
		magic("a zip archive, or a spreadsheet", "unpack it with unzip; save a spreadsheet as text", 0,
			"PK\x03\x04", "PK\x05\x06"),
		magic("a 7z archive", "unpack it", 0, "7z\xbc\xaf\x27\x1c"),
		magic("a tar archive", "unpack it with tar -xf", 257, "ustar"),
		magic("a Parquet file", exported, 0, "PAR1"),
		magic("an SQLite database", exported, 0, "SQLite format 3\x00"),
		magic("a record of a negotiator", "replay it with condorsim replay", 0, "condor-backfill record "),
		magic("a PDF document", textFile, 0, "%PDF-"),
		magic("a program", textFile, 0, "\x7fELF", "MZ\x90\x00", "\xcf\xfa\xed\xfe"),
		magic("an image", textFile, 0, "\x89PNG", "\xff\xd8\xff", "GIF8"),
	}
}

// utf16 is text in UTF-16, with or without the mark that says which byte of a character comes first. Without
// it every other byte of plain letters is zero.
var utf16 = &Kind{
	Holds: "text in UTF-16, as PowerShell writes it", Jobs: toUTF8, Slots: toUTF8,
	recognises: func(head []byte) bool {
		if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
			return true
		}
		const few = 8
		if len(head) < few {
			return false
		}
		var zeros [2]int
		for i, c := range head[:few] {
			if c == 0 {
				zeros[i%2]++
			}
		}
		return zeros == [2]int{0, few / 2} || zeros == [2]int{few / 2, 0}
	},
}

// binary is any other file that no editor shows: near its beginning is a zero, or more than one in fifty
// bytes is another that texts have not. A single one may be a name that rings a bell.
var binary = &Kind{Holds: "a binary file", Jobs: textFile, Slots: textFile, recognises: func(head []byte) bool {
	const near, share = 512, 50
	head = head[:min(len(head), near)]
	odd := 0
	for _, c := range head {
		if c < '\a' || '\r' < c && c < ' ' && c != '\x1b' {
			odd++
		}
	}
	return odd > max(1, len(head)/share) || bytes.IndexByte(head, 0) >= 0
}}
