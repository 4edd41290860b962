package gate

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
)

// personAt names the user of this machine whose program made a connection over loopback, "" when that cannot be learned. The kernel's
// table of connections tells it.
func personAt(r *http.Request) string {
	theirs, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !theirs.Addr().Unmap().IsLoopback() {
		return ""
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return ""
	}
	ours := local.AddrPort()
	for _, path := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		uid := userOf(f, theirs, ours)
		if err := f.Close(); err == nil && uid != "" {
			return "user " + uid
		}
	}
	return ""
}

// userOf finds the connection from theirs to ours in a table and gives its user's number, "" for none.
func userOf(table io.Reader, theirs, ours netip.AddrPort) string {
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) > 7 && isAddress(f[1], theirs) && isAddress(f[2], ours) {
			return f[7]
		}
	}
	return ""
}

// isAddress compares an address as the kernel prints it, words of 4 bytes in the machine's order, a colon and the port.
func isAddress(printed string, want netip.AddrPort) bool {
	host, port, ok := strings.Cut(printed, ":")
	b, err := hex.DecodeString(host)
	p, portErr := hex.DecodeString(port)
	if !ok || err != nil || portErr != nil || len(b)%4 != 0 || len(p) != 2 || binary.BigEndian.Uint16(p) != want.Port() {
		return false
	}
	for i := 0; i < len(b); i += 4 {
		binary.BigEndian.PutUint32(b[i:], binary.NativeEndian.Uint32(b[i:]))
	}
	a, ok := netip.AddrFromSlice(b)
	return ok && a.Unmap() == want.Addr().Unmap()
}
