package estimate

import (
	"slices"
	"sort"
)

// ranked is a sorted multiset of ratios, in which a ratio can be found by its rank. The ratios lie
// in ascending blocks of up to blockSize. To add a ratio moves part of a block, which is cheaper
// than the way down a tree, and a search by rank passes a block in one step.
type ranked struct {
	blocks [][]ratio // none is empty
	count  int
}

const blockSize = 512

func (s *ranked) add(r ratio) {
	s.count++
	if len(s.blocks) == 0 {
		s.blocks = [][]ratio{{r}}
		return
	}
	b, i := s.find(r)
	block := slices.Insert(s.blocks[b], i, r)
	s.blocks[b] = block
	if len(block) > blockSize {
		half := slices.Clone(block[blockSize/2:])
		s.blocks[b] = block[:blockSize/2]
		s.blocks = slices.Insert(s.blocks, b+1, half)
	}
}

// remove removes one of the ratios that equal r; there must be one.
func (s *ranked) remove(r ratio) {
	s.count--
	b, i := s.find(r)
	s.blocks[b] = slices.Delete(s.blocks[b], i, i+1)
	s.join(b)
	if b > 0 {
		s.join(b - 1)
	}
}

// join merges block b with the next one if both are small, and removes it if it is empty.
func (s *ranked) join(b int) {
	switch {
	case len(s.blocks[b]) == 0:
		s.blocks = slices.Delete(s.blocks, b, b+1)
	case b+1 < len(s.blocks) && len(s.blocks[b])+len(s.blocks[b+1]) <= blockSize/2:
		s.blocks[b] = append(s.blocks[b], s.blocks[b+1]...)
		s.blocks = slices.Delete(s.blocks, b+1, b+2)
	}
}

// find returns the block of the first ratio that is not less than r, and its index in the block. If
// all are less, it returns the end of the last block.
func (s *ranked) find(r ratio) (b, i int) {
	b = sort.Search(len(s.blocks)-1, func(b int) bool { return !s.blocks[b][len(s.blocks[b])-1].less(r) })
	block := s.blocks[b]
	return b, sort.Search(len(block), func(i int) bool { return !block[i].less(r) })
}

// at returns the ratio with the given rank; the smallest has rank 0. It counts from the nearer end.
func (s *ranked) at(rank int) ratio {
	if rank < s.count/2 {
		b := 0
		for rank >= len(s.blocks[b]) {
			rank -= len(s.blocks[b])
			b++
		}
		return s.blocks[b][rank]
	}
	b, fromEnd := len(s.blocks)-1, s.count-rank
	for fromEnd > len(s.blocks[b]) {
		fromEnd -= len(s.blocks[b])
		b--
	}
	return s.blocks[b][len(s.blocks[b])-fromEnd]
}
