package kv

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"holdfast/engine/chat"
)

// bucket numbers a noun's records. The number goes into every CRC and hash, so that a record in the wrong bucket is found. Numbers and
// names are never reused.
//
// All ids are the 16 bytes of their UUID; numbers are 8 bytes, big-endian; times are nanoseconds since 1970, sign bit flipped so that
// they sort, 0 for none.
type bucket byte

const (
	bMeta        bucket = 1  // name                          schema, min_reader, created_by, clean, epoch, next_id
	bChat        bucket = 2  // chat 16                       head (chatHead) | JSON
	bMessage     bucket = 3  // chat 16 | message 8           hash 32 | JSON without ids
	bMark        bucket = 4  // chat 16 | mark 8              hash 32 | JSON {from}; ids from the Messages' sequence
	bQueue       bucket = 5  // chat 16                       JSON list of QueuedMessage
	bDraft       bucket = 6  // chat 16 | step 8 | n 4        JSON DraftChunk
	bIntent      bucket = 7  // chat 16 | step 8 | index 4    JSON Intent
	bCheckpoint  bucket = 8  // chat 16 | message 8 | path [| 0 | workspace 36]   JSON Checkpoint
	bReadMark    bucket = 9  // chat 16 | user 16             JSON message id
	bFileRead    bucket = 10 // chat 16                       JSON path -> hash
	bReceipt     bucket = 11 // chat 16 (0: none) | user 16 | key   JSON Receipt
	bUsage       bucket = 12 // root chat 16 | number 8       JSON UsageEntry; stays when the family goes
	bUser        bucket = 13 // user 16                       JSON User
	bToken       bucket = 14 // hash 32                       JSON Token
	bSession     bucket = 15 // hash 32                       JSON Session
	bLoginCode   bucket = 16 // hash 32                       JSON LoginCode
	bWorkspace   bucket = 17 // workspace 16                  JSON WorkspaceRecord
	bModelConfig bucket = 18 // model config 16               JSON ModelConfig
	bSite        bucket = 19 // name                          JSON
	bActive      bucket = 20 // 1 | runnable since 8 | chat 16 (pending, not archived), or 2 | chat 16 (other, not at rest)   empty
	bChild       bucket = 21 // parent 16 | chat 16           empty
	bDoomed      bucket = 22 // root chat 16                  JSON time; the family is hidden and being removed
	bFileRef     bucket = 23 // chat 16 | message 8 | sha256 32   empty; files that a Message names or is spilled to
	bUsageDay    bucket = 24 // user 16 | day 4 | root chat 16 (0: all of the day)   JSON UsageDay; sums of usage entries, by days since 1970
	bTerm        bucket = 25 // owner 16 | segment 8          head of a segment of the term index; | 0, chunk 2: documents; | first term: block
	bTermChat    bucket = 26 // chat 16                       term state 32 | "\n" and a term of the title, each
	bFile        bucket = 27 // file 16                       JSON File
	bFileLink    bucket = 28 // chat 16 | file 16             JSON FileLink
	bSnapshot    bucket = 29 // workspace 16 | address 32     JSON storedSnapshot; the address is the SHA-256 of its content
	bContextText bucket = 30 // workspace 16 | sha256 32      JSON bytes; a file or skill that Snapshots of the Workspace name
	bNewest      bucket = 31 // workspace 16                  JSON NewestSnapshot
	bPin         bucket = 32 // chat 16                       workspace 16 | address 32; the Snapshot that the Chat pins
	bAgent       bucket = 33 // agent 16                      JSON AgentRecord
	bEnrolment   bucket = 34 // hash 32                       JSON AgentEnrolment
	bOutbound    bucket = 35 // number 8                      JSON OutboundEntry; numbers from the Messages' sequence
	bPush        bucket = 36 // user 16 | subscription 16     JSON PushSubscription
	bAudit       bucket = 37 // number 8                      hash 32 | JSON Audit; the ends of the chain stand in meta, under audit
	bMCPServer   bucket = 38 // MCP server 16                 JSON MCPServer
	bMCPPins     bucket = 39 // MCP server 16                 JSON MCPPins
	bChatRules   bucket = 40 // root chat 16                  JSON RuleSet; the permission rules of a family
	bSpaceRules  bucket = 41 // workspace 16                  JSON RuleSet
	bOwed        bucket = 42 // chat 16                       JSON OwedNotice
	bNotice      bucket = 43 // user 16 | number 8            JSON KeptNotice; the newest of a person
	bAdvised     bucket = 44 // day 4 | user 16               JSON AdvisedDay

	lastBucket = bAdvised
)

var bucketNames = [lastBucket + 1]string{
	bMeta: "meta", bChat: "chat", bMessage: "message", bMark: "mark", bQueue: "queue", bDraft: "draft", bIntent: "intent",
	bCheckpoint: "checkpoint", bReadMark: "readmark", bFileRead: "fileread", bReceipt: "receipt", bUsage: "usage", bUser: "user",
	bToken: "token", bSession: "session", bLoginCode: "logincode", bWorkspace: "workspace", bModelConfig: "modelconfig", bSite: "site",
	bActive: "active", bChild: "child", bDoomed: "doomed", bFileRef: "fileref", bTerm: "term", bTermChat: "termchat",
	bUsageDay: "usageday", bFile: "file", bFileLink: "filelink",
	bMCPServer: "mcpserver", bMCPPins: "mcppins",
	bAgent: "agent", bEnrolment: "enrolment", bOutbound: "outbound", bPush: "push", bChatRules: "chatrules", bSpaceRules: "spacerules",
	bSnapshot: "snapshot", bContextText: "contexttext", bNewest: "newest", bPin: "pin",
	bAudit: "audit", bOwed: "owed", bNotice: "notice", bAdvised: "advised",
}

func (b bucket) String() string { return bucketNames[b] }

// headSizes are the fixed bytes in front of a noun's JSON.
var headSizes = [lastBucket + 1]int{bChat: chatHeadSize, bMessage: hashSize, bMark: hashSize, bTermChat: termHeadSize, bPin: pinHeadSize,
	bAudit: hashSize}

// familyBuckets hold a Chat's own records under its id; they go with the Chat, the Chat's record last.
var familyBuckets = []bucket{bDraft, bIntent, bQueue, bCheckpoint, bReadMark, bFileRead, bReceipt, bFileRef, bFileLink, bTermChat, bPin, bChatRules, bOwed, bMark, bMessage}

const (
	idSize   = 16
	hashSize = 32

	activePending = 1
	activeOther   = 2
)

type id16 [idSize]byte

// parseID reads a UUID in its 36 character form.
func parseID(s string) (id16, error) {
	var id id16
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id, fmt.Errorf("kv: id %q is not a UUID", s)
	}
	var text [32]byte
	copy(text[0:], s[0:8])
	copy(text[8:], s[9:13])
	copy(text[12:], s[14:18])
	copy(text[16:], s[19:23])
	copy(text[20:], s[24:36])
	for _, c := range text {
		if c >= 'A' && c <= 'F' {
			// Two spellings of one key would be two ids to every comparison outside of the store.
			return id, fmt.Errorf("kv: id %q is not in lower case", s)
		}
	}
	if _, err := hex.Decode(id[:], text[:]); err != nil {
		return id16{}, fmt.Errorf("kv: id %q is not a UUID", s)
	}
	return id, nil
}

// String gives the 36 character form; "" for the zero id.
func (x id16) String() string {
	if x == (id16{}) {
		return ""
	}
	var out [36]byte
	hex.Encode(out[0:8], x[0:4])
	out[8] = '-'
	hex.Encode(out[9:13], x[4:6])
	out[13] = '-'
	hex.Encode(out[14:18], x[6:8])
	out[18] = '-'
	hex.Encode(out[19:23], x[8:10])
	out[23] = '-'
	hex.Encode(out[24:36], x[10:16])
	return string(out[:])
}

func toID(b []byte) id16 { return id16(b[:idSize]) }

// idKey is the key of a noun that is kept under its own id.
func idKey[T ~string](id T) ([]byte, error) {
	k, err := parseID(string(id))
	if err != nil {
		return nil, err
	}
	return k[:], nil
}

// chatKey is a key that begins with a Chat's id and goes on with numbers.
func chatKey(id chat.ID, numbers ...uint64) ([]byte, error) {
	k, err := parseID(string(id))
	if err != nil {
		return nil, err
	}
	key := make([]byte, idSize, idSize+8*len(numbers))
	copy(key, k[:])
	for _, n := range numbers {
		key = binary.BigEndian.AppendUint64(key, n)
	}
	return key, nil
}

func numberAt(key []byte, at int) uint64 { return binary.BigEndian.Uint64(key[at:]) }

func messageIDOf(key []byte) chat.MessageID { return chat.MessageID(numberAt(key, idSize)) }

func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return binary.BigEndian.AppendUint64(b, 0)
	}
	return binary.BigEndian.AppendUint64(b, uint64(t.UnixNano())^(1<<63))
}

// hashKey is the key of a credential: the SHA-256 of its text.
func hashKey(hash []byte) ([]byte, error) {
	if len(hash) != hashSize {
		return nil, fmt.Errorf("kv: a hash has %d bytes, want %d", len(hash), hashSize)
	}
	return hash, nil
}

// damageAt names a record by its bucket and key, as far as the key tells.
func damageAt(b bucket, key []byte, reason string) Damage {
	d := Damage{Noun: b.String(), Key: hex.EncodeToString(key), Reason: reason}
	switch b {
	case bChat, bMessage, bMark, bQueue, bDraft, bIntent, bCheckpoint, bReadMark, bFileRead, bReceipt, bUsage, bDoomed, bFileRef, bFileLink, bTermChat,
		bPin, bChatRules, bOwed:
		if len(key) >= idSize {
			d.Chat = chat.ID(toID(key).String())
		}
	}
	switch b {
	case bMessage, bMark, bCheckpoint, bFileRef:
		if len(key) >= idSize+8 {
			d.Message = messageIDOf(key)
		}
	}
	return d
}
