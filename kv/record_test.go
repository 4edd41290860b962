package kv

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"holdfast/engine/chat"
)

// FuzzDecodeRecord: any bytes are a record that encodes to the same bytes, or damage; never a panic, never a wrong answer.
func FuzzDecodeRecord(f *testing.F) {
	key := bytes.Repeat([]byte{1}, idSize+8)
	f.Add(byte(bMessage), key, encodeRecord(recordVersion, bMessage, key, make([]byte, hashSize), []byte(`{"role":"user"}`)))
	f.Add(byte(bUser), key[:idSize], encodeRecord(recordVersion, bUser, key[:idSize], nil, []byte(`{}`)))
	f.Add(byte(bSite), []byte("x"), encodeRecord(recordVersion|spillBit, bSite, []byte("x"), nil, fileRef{Size: 1}.bytes()))
	f.Add(byte(bChat), key[:idSize], encodeRecord(recordVersion, bChat, key[:idSize], make([]byte, chatHeadSize), []byte(`{}`)))
	f.Add(byte(bChat), []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, number byte, key, value []byte) {
		b := bucket(number%byte(lastBucket)) + 1
		r, err := decodeRecord(b, key, value)
		if err != nil {
			var d *DamageError
			if !errors.As(err, &d) || d.Noun != b.String() {
				t.Errorf("a bad record gave %v", err)
			}
			return
		}
		if again := encodeRecord(r.version, b, key, r.head, r.body); !bytes.Equal(again, value) {
			t.Errorf("a record came back as %x, was %x", again, value)
		}
		if b == bChat {
			parseChatHead(r.head).activeKey(id16{})
		}
	})
}

func TestChecksumCoversKeyBucketVersionAndEveryBit(t *testing.T) {
	key := []byte("key")
	value := encodeRecord(recordVersion, bSite, key, nil, []byte(`"value"`))
	if _, err := decodeRecord(bSite, key, value); err != nil {
		t.Fatal(err)
	}
	if _, err := decodeRecord(bSite, []byte("kez"), value); !errors.Is(err, ErrDamaged) {
		t.Errorf("another key: %v", err)
	}
	if _, err := decodeRecord(bMeta, key, value); !errors.Is(err, ErrDamaged) {
		t.Errorf("another bucket: %v", err)
	}
	for bit := range 8 * len(value) {
		flipped := bytes.Clone(value)
		flipped[bit/8] ^= 1 << (bit % 8)
		if _, err := decodeRecord(bSite, key, flipped); !errors.Is(err, ErrDamaged) {
			t.Errorf("bit %d: %v", bit, err)
		}
	}
	for n := range value {
		if _, err := decodeRecord(bSite, key, value[:n]); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
}

func FuzzMergeUnknown(f *testing.F) {
	for _, old := range []string{`{}`, `{"id":"a"}`, `{"id":"a","new":{"x":[1,"\"}"]},"name":"b"}`, `{"a\"b":1}`, `[]`, `{"new":"\u2028"}`} {
		f.Add([]byte(`{"id":"x"}`), []byte(old))
	}
	known := fieldsOf[chat.User]()
	f.Fuzz(func(t *testing.T, body, old []byte) {
		var have, was map[string]json.RawMessage
		if json.Unmarshal(body, &have) != nil || json.Unmarshal(old, &was) != nil || have == nil || was == nil {
			return
		}
		var compact, compactOld bytes.Buffer
		if err := errors.Join(json.Compact(&compact, body), json.Compact(&compactOld, old)); err != nil {
			t.Fatal(err)
		}
		for name := range have {
			if !known[name] {
				// The store never encodes a field that its type does not have.
				return
			}
		}
		var got map[string]json.RawMessage
		merged := mergeUnknown(compact.Bytes(), compactOld.Bytes(), known)
		if err := json.Unmarshal(merged, &got); err != nil {
			t.Fatalf("%s is not JSON: %v", merged, err)
		}
		for name := range have {
			if !bytes.Equal(got[name], have[name]) && compactJSON(t, have[name]) != compactJSON(t, got[name]) {
				t.Errorf("field %q became %s", name, got[name])
			}
		}
		for name := range was {
			if _, ok := got[name]; !ok && !known[name] {
				t.Errorf("the unknown field %q was lost in %s", name, merged)
			}
		}
	})
}

func compactJSON(t *testing.T, raw []byte) string {
	t.Helper()
	var buf bytes.Buffer
	if err := json.Compact(&buf, raw); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func TestFieldsOfANewerVersionSurviveAnOlderOnesWrite(t *testing.T) {
	s := openTest(t, t.TempDir(), faults{})
	c, u := newChat(newID[chat.UserID]()), &chat.User{ID: newID[chat.UserID](), Name: "before"}
	stored := func(b bucket, key []byte) (fields map[string]json.RawMessage) {
		view(t, s, func(tx *Tx) error {
			_, err := tx.t.getJSON(b, key, &fields)
			return err
		})
		return fields
	}
	chatID, err1 := idKey(c.ID)
	userID, err2 := idKey(u.ID)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	update(t, s, func(tx *Tx) error {
		if err := errors.Join(tx.PutChat(c), tx.PutUser(u)); err != nil {
			return err
		}
		for b, key := range map[bucket][]byte{bChat: chatID, bUser: userID} {
			r, _, err := tx.t.get(b, key)
			if err != nil {
				return err
			}
			body := append(bytes.Clone(r.body[:len(r.body)-1]), `,"future":{"name":["<a>"]}}`...)
			if err := tx.t.put(b, key, bytes.Clone(r.head), body); err != nil {
				return err
			}
		}
		return nil
	})
	c.Title, u.Name = "after", "after"
	update(t, s, func(tx *Tx) error { return errors.Join(tx.PutChat(c), tx.PutUser(u)) })
	for b, key := range map[bucket][]byte{bChat: chatID, bUser: userID} {
		fields := stored(b, key)
		if string(fields["future"]) != `{"name":["<a>"]}` {
			t.Errorf("%s lost the field: %v", b, fields)
		}
		if name := string(fields["name"]) + string(fields["title"]); name != `"after"` {
			t.Errorf("%s was not changed: %s", b, name)
		}
	}
}

func TestIDsAreUUIDsInOneSpelling(t *testing.T) {
	good := "01890a5d-ac96-774b-bcce-b302099a8057"
	id, err := parseID(good)
	if err != nil || id.String() != good {
		t.Errorf("%s became %s, %v", good, id, err)
	}
	for _, bad := range []string{"", "x", "01890a5d-ac96-774b-bcce-b302099a805", "01890A5D-AC96-774b-bcce-b302099a8057",
		"01890a5dxac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a805g", "{1890a5d-ac96-774b-bcce-b302099a8057"} {
		if _, err := parseID(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
	if err := (chatHead{}).root.String(); err != "" {
		t.Errorf("the zero id is %q", err)
	}
}
