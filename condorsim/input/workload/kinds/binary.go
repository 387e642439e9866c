package kinds

import "bytes"

// magic is a kind of file that has certain bytes at an offset.
func magic(holds, instead string, at int, bytesThere ...string) *Kind {
	return &Kind{holds, instead, instead, func(head []byte) bool {
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
		magic("a Parquet file", toSWF, 0, "PAR1"),
		magic("an SQLite database", toSWF, 0, "SQLite format 3\x00"),
		magic("a PDF document", textFile, 0, "%PDF-"),
		magic("a program", textFile, 0, "\x7fELF", "MZ\x90\x00", "\xcf\xfa\xed\xfe"),
		magic("an image", textFile, 0, "\x89PNG", "\xff\xd8\xff", "GIF8"),
		magic("text in UTF-16, as PowerShell writes it", "convert it: iconv -f UTF-16 -t UTF-8", 0, "\xff\xfe", "\xfe\xff"),
	}
}

// binary is any other file that no editor shows.
var binary = &Kind{"a binary file", textFile, textFile, func(head []byte) bool {
	const near = 512
	return bytes.IndexByte(head[:min(len(head), near)], 0) >= 0
}}
