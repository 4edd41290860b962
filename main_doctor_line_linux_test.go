package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine/chat"
	"holdfast/engine/health"
)

const mountTable = `22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
30 27 254:1 / /var/lib rw,relatime - ext4 /dev/vdb rw,nobarrier
31 30 0:40 / /var/lib/holdfast ro,nosuid - ext4 /dev/vdc ro
32 27 0:41 / /tmp rw - tmpfs tmpfs rw
33 27 0:42 / /mnt/a\040b rw - xfs /dev/vdd rw
34 33 0:43 / /mnt/a\040b rw - overlay overlay rw,lowerdir=/x
half a line
`

func TestMountOfThePathAndWhatItMeans(t *testing.T) {
	for _, c := range []struct {
		path, point, kind string
		state             health.LineState
		says              string
	}{
		{"/home/ingrid/data", "/", "ext4", health.Well, "ext4 at /"},
		{"/var/lib", "/var/lib", "ext4", health.Warning, "without barriers"},
		{"/var/lib/holdfastly", "/var/lib", "ext4", health.Warning, "without barriers"},
		{"/var/lib/holdfast/data", "/var/lib/holdfast", "ext4", health.Failed, "read-only"},
		{"/tmp/x", "/tmp", "tmpfs", health.Warning, "memory"},
		{"/mnt/a b/c", "/mnt/a b", "overlay", health.Warning, "container"},
	} {
		m, ok := mountOf(mountTable, c.path)
		l := judgeMount(m, "6.1.0-13-amd64")
		if !ok || m.point != c.point || m.kind != c.kind || l.State != c.state || !strings.Contains(l.Found, c.says) || (l.State == health.Well) != (l.Do == "") {
			t.Errorf("%s: %+v, %+v", c.path, m, l)
		}
	}
	if _, ok := mountOf("", "/"); ok {
		t.Error("an empty table has a mount")
	}
	for release, loses := range map[string]bool{"5.10.93-1-amd64": true, "5.10.94": false, "5.10.200": false, "5.15.26-generic": true, "5.15.27": false, "6.1.0-13": false, "odd": false} {
		l := judgeMount(mount{kind: "ext4", point: "/", options: []string{"rw", "fast_commit"}}, release)
		if (l.State == health.Warning) != loses {
			t.Errorf("%s: %+v", release, l)
		}
	}
}

func TestCardsOfTheKernelsFiles(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t\t NVIDIA GeForce RTX 4090\nIRQ:   \t\t 120\n",
		"sys/module/nvidia/version":                        "550.54.14\n",
		"sys/class/drm/renderD128/device/uevent":           "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:744C\n",
		"sys/class/drm/renderD129/device/uevent":           "DRIVER=virtio_gpu\n",
	} {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := []card{{"NVIDIA GeForce RTX 4090", "driver 550.54.14"}, {"card 1002:744C", "amdgpu"}}
	if got := cardsIn(root); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if got := cardsIn(t.TempDir()); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	for name, c := range map[string]struct {
		cards  []card
		loaded []chat.LoadedModel
		state  health.LineState
		says   string
	}{
		"nothing":           {nil, nil, health.Skipped, "no graphics card"},
		"not asked yet":     {want, nil, health.Skipped, "no model is loaded"},
		"unused":            {want, []chat.LoadedModel{{Size: 4e9}}, health.Warning, "nothing on it"},
		"whole":             {want, []chat.LoadedModel{{Size: 4e9, SizeVRAM: 4e9}}, health.Well, "all of 4.0 GB"},
		"half":              {want, []chat.LoadedModel{{Size: 4e9, SizeVRAM: 1e9}}, health.Well, "1.0 GB of 4.0 GB"},
		"one that is hid":   {nil, []chat.LoadedModel{{Size: 4e9, SizeVRAM: 4e9}}, health.Well, "on a graphics card"},
		"a processor alone": {nil, []chat.LoadedModel{{Size: 4e9}}, health.Well, "no graphics card"},
	} {
		if l := gpuLine(c.cards, c.loaded); l.State != c.state || !strings.Contains(l.Found, c.says) {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

func TestWhoListensBeyondLoopback(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue\n"
	for table, beyond := range map[string]bool{
		head + "   0: 00000000:2CAA 00000000:0000 0A 00000000:00000000\n":                                                  true,
		head + "   0: 0100007F:2CAA 00000000:0000 0A 00000000:00000000\n":                                                  false,
		head + "   0: 0A00000A:2CAA 00000000:0000 01 00000000:00000000\n":                                                  false,
		head + "   0: 00000000:2CAB 00000000:0000 0A 00000000:00000000\n":                                                  false,
		head + "   0: 00000000000000000000000000000000:2CAA 00000000000000000000000000000000:0000 0A\n":                    true,
		head + "   0: 00000000000000000000000001000000:2CAA 00000000000000000000000000000000:0000 0A\n":                    false,
		head + "   0: 0000000000000000FFFF00000100007F:2CAA 00000000000000000000000000000000:0000 0A\nzz: odd:2CAA x 0A\n": true,
		"": false,
	} {
		if listedBeyond(table, 11434) != beyond {
			t.Errorf("%q", table)
		}
	}
}

func TestClockAndCertificateLines(t *testing.T) {
	now := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		now, newest time.Time
		set         time.Duration
		state       health.LineState
		says        string
	}{
		"well":             {now, now.Add(-time.Hour), time.Second, health.Well, "2026-11-22 14:00:00 UTC"},
		"no chats":         {now, time.Time{}, 0, health.Well, ""},
		"set back":         {now, now.Add(time.Hour), 0, health.Warning, "1h0m0s before the newest change"},
		"set while it ran": {now, now, -time.Hour, health.Warning, "set by -1h0m0s"},
		"never set":        {time.Unix(0, 0), time.Time{}, 0, health.Failed, "before this version was made"},
	} {
		if l := clockLine(c.now, c.newest, c.set); l.State != c.state || !strings.Contains(l.Found, c.says) || (l.State == health.Well) != (l.Do == "") {
			t.Errorf("%s: %+v", name, l)
		}
	}
	from, until := now.Add(-time.Hour), now.AddDate(10, 0, 0)
	for state, at := range map[health.LineState]time.Time{health.Well: now, health.Warning: until.Add(-time.Hour), health.Failed: until.Add(time.Hour)} {
		if l := endLine(health.Line{Name: "TLS", State: health.Well}, from, until, at); l.State != state {
			t.Errorf("at %s: %+v", at, l)
		}
	}
	if l := endLine(health.Line{State: health.Well}, from, until, from.Add(-time.Hour)); l.State != health.Failed {
		t.Errorf("%+v", l)
	}
	data := t.TempDir()
	if l := (doctor{data: data}).certificates(); l.State != health.Well {
		t.Errorf("none: %+v", l)
	}
	if err := os.Mkdir(filepath.Join(data, "tls"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "tls", "agents-ca.crt"), []byte("odd"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l := (doctor{data: data}).certificates(); l.State != health.Failed || l.Do == "" {
		t.Errorf("odd: %+v", l)
	}
}

// TestASleepSetsNoClock: a machine that slept has not had its clock set.
func TestASleepSetsNoClock(t *testing.T) {
	start := moment{time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC), time.Hour}
	for name, c := range map[string]struct {
		wall, boot, set time.Duration
	}{"awake": {time.Minute, time.Minute, 0}, "asleep for a night": {8 * time.Hour, 8 * time.Hour, 0}, "set ahead": {time.Hour, time.Minute, 59 * time.Minute}, "set back": {-time.Hour, time.Minute, -61 * time.Minute}} {
		if set := start.setUntil(moment{start.wall.Add(c.wall), start.boot + c.boot}); set != c.set {
			t.Errorf("%s: set by %s", name, set)
		}
	}
	if set := (moment{wall: start.wall}).setUntil(moment{wall: start.wall.Add(time.Hour)}); set != 0 {
		t.Errorf("without the other clock it was set by %s", set)
	}
	if sinceBoot() <= 0 {
		t.Error("there is no other clock")
	}
}
