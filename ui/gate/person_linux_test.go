package gate

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
)

// As /proc/net/tcp and tcp6 look on a little-endian machine.
const connections = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:20E4 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4242 1 0000000000000000 100 0 0 10 0
   1: 0100007F:20E4 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1000        0 4243 1 0000000000000000 20 4 30 10 -1
   2: 0100007F:C350 0100007F:20E4 01 00000000:00000000 00:00000000 00000000  1001        0 4244 1 0000000000000000 20 4 30 10 -1
   3: 00000000000000000000000001000000:C351 00000000000000000000000001000000:20E4 01 00000000:00000000 00:00000000 00000000  1002        0 1 1
   4: 0000000000000000FFFF00000100007F:C352 0000000000000000FFFF00000100007F:20E4 01 00000000:00000000 00:00000000 00000000  1003        0 1 1
`

func TestConnectionsTellTheirUser(t *testing.T) {
	table := connections
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		// Elsewhere the kernel prints the bytes of each word the other way round.
		table = strings.NewReplacer("0100007F", "7F000001", "01000000:", "00000001:", "FFFF0000", "0000FFFF").Replace(table)
	}
	for theirs, want := range map[string]string{"127.0.0.1:50000": "1001", "[::1]:50001": "1002", "127.0.0.1:50002": "1003", "127.0.0.1:50009": "", "[::1]:50000": ""} {
		from := netip.MustParseAddrPort(theirs)
		to := netip.AddrPortFrom(from.Addr(), 8420)
		if got := userOf(strings.NewReader(table), from, to); got != want {
			t.Errorf("%s is of %q, want %q", theirs, got, want)
		}
	}
}

func TestPeopleOfThisMachineAreToldApart(t *testing.T) {
	found := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { found <- personAt(r) }))
	defer s.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Error(err)
	}
	if got, want := <-found, fmt.Sprint("user ", os.Getuid()); got != want {
		t.Errorf("the connection is of %q, want %q", got, want)
	}
	far := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if got := personAt(far); got != "" {
		t.Errorf("an address that is not of this machine is of %q", got)
	}
	far.RemoteAddr = "127.0.0.1:1"
	if got := personAt(far.WithContext(t.Context())); got != "" {
		t.Errorf("without a connection it is %q", got)
	}
}
