package statefile

import (
	"bytes"
	"errors"
	"fmt"
	"iter"

	"go.etcd.io/bbolt"
)

// Tx is a transaction. It and its buckets must not be used after it.
type Tx struct {
	bolt *bbolt.Tx
	seal seal // of the buckets as they are written
}

// View calls read with the file as it is now. It returns the callback's error.
func (f *File) View(read func(*Tx) error) error {
	return f.db.View(func(tx *bbolt.Tx) error { return read(&Tx{bolt: tx}) })
}

// Update calls write, and then writes all that it changed, or nothing if there is an error.
func (f *File) Update(write func(*Tx) error) error {
	return f.db.Update(func(tx *bbolt.Tx) error {
		s, err := present(tx)
		if err != nil {
			return err
		}
		if err = write(&Tx{tx, s}); err != nil {
			return err
		}
		return s.write(tx)
	})
}

// Bucket is a set of records, each with a key.
type Bucket struct {
	bolt *bbolt.Bucket
	sum  *bucketSum // nil: it is only read
}

// Bucket returns a bucket; nil if there is none of that name.
func (t *Tx) Bucket(name string) *Bucket {
	b := t.bolt.Bucket([]byte(name))
	if b == nil {
		return nil
	}
	return &Bucket{b, t.seal.of(name)}
}

// Make returns a bucket, and makes it if there is none of that name.
func (t *Tx) Make(name string) (*Bucket, error) {
	b, err := t.bolt.CreateBucketIfNotExists([]byte(name))
	if err != nil {
		return nil, err
	}
	return &Bucket{b, t.seal.of(name)}, nil
}

// Drop deletes a bucket, if there is one of that name.
func (t *Tx) Drop(name string) error {
	if t.bolt.Bucket([]byte(name)) == nil {
		return nil
	}
	delete(t.seal.Buckets, name)
	return t.bolt.DeleteBucket([]byte(name))
}

// Get returns the value of a key; nil if there is none. It is valid during the transaction.
func (b *Bucket) Get(key string) []byte { return b.bolt.Get([]byte(key)) }

// ErrUnfit says that a record cannot be one of a file: its key is empty or too long, or its value is
// too long. Nothing was written, and the transaction can go on with others.
var ErrUnfit = errors.New("a state file cannot hold it")

// Fits returns an error that wraps [ErrUnfit] if a file cannot hold such a record.
func Fits(key string, value []byte) error {
	if key == "" || len(key) > bbolt.MaxKeySize || int64(len(value)) > bbolt.MaxValueSize {
		return fmt.Errorf("%w: a key of %d bytes, and a value of %d", ErrUnfit, len(key), len(value))
	}
	return nil
}

// Put writes a record. An error that wraps [ErrUnfit] is the record's own.
func (b *Bucket) Put(key string, value []byte) error {
	if err := Fits(key, value); err != nil {
		return err
	}
	k := []byte(key)
	if old := b.bolt.Get(k); old != nil {
		b.sum.Records -= digest(k, old)
	}
	b.sum.Records += digest(k, value)
	return b.bolt.Put(k, bytes.Clone(value))
}

// Delete removes a record, if there is one with the key.
func (b *Bucket) Delete(key string) error {
	k := []byte(key)
	if old := b.bolt.Get(k); old != nil {
		b.sum.Records -= digest(k, old)
	}
	return b.bolt.Delete(k)
}

// All returns the records by ascending key. They are valid during the transaction, and must not be
// changed meanwhile.
func (b *Bucket) All() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		c := b.bolt.Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if !yield(string(k), v) {
				return
			}
		}
	}
}

// Last is the last number that [Bucket.Number] gave; 0 if there is none.
func (b *Bucket) Last() uint64 { return b.bolt.Sequence() }

// Number returns the next number, from 1 on, for keys in ascending order. It packs pages full, as
// is right for records that only come at the end.
func (b *Bucket) Number() (uint64, error) {
	b.bolt.FillPercent = 1
	n, err := b.bolt.NextSequence()
	b.sum.Last = n
	return n, err
}
