package kubernetes

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chartutil"
	core "k8s.io/api/core/v1"
)

const (
	// patience is for a machine that is busy; nothing is judged by it but that something comes at all.
	patience  = 90 * time.Second
	token     = "a-token-of-some-length"
	bigLength = 32 << 20
)

// onItsOwnMachine runs a test again in namespaces of its own, where it has the ports and mounts that it wants. Where it puts
// what it mounts is removed from outside, by a process that sees no mount there.
func onItsOwnMachine(t *testing.T, body func(t *testing.T, folder string)) {
	if os.Getenv("SALVER_JUDGE_WITHIN") != "" {
		if err := syscall.Mount("", "/", "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
			t.Fatal(err)
		}
		if err := networkUp(); err != nil {
			t.Fatal(err)
		}
		body(t, os.Getenv("SALVER_JUDGE_FOLDER"))
		return
	}
	folder := t.TempDir()
	var names []string
	for _, name := range strings.Split(t.Name(), "/") {
		names = append(names, "^"+regexp.QuoteMeta(name)+"$")
	}
	within := exec.Command("/proc/self/exe", "-test.run="+strings.Join(names, "/"), "-test.v")
	within.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET}
	who := "root"
	if os.Geteuid() != 0 {
		who = "user"
		within.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		within.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		within.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	within.Env = append(os.Environ(), "SALVER_JUDGE_WITHIN="+who, "SALVER_JUDGE_FOLDER="+folder)
	said, err := within.CombinedOutput()
	if err != nil || !bytes.Contains(said, []byte("--- PASS: "+t.Name())) {
		t.Fatalf("%v: it wants namespaces for mounts and the network, as root or by user namespaces\n%s", err, said)
	}
	for _, line := range strings.Split(string(said), "\n") {
		if _, told, isTold := strings.Cut(line, ".go:"); isTold {
			_, told, _ = strings.Cut(told, ": ")
			t.Log(told)
		}
	}
}

// writeSite makes the directory of a site, with a file that no socket takes at once.
func writeSite(t *testing.T, folder, page string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"index.html": page, "big.bin": ""} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(filepath.Join(folder, "big.bin"), bigLength); err != nil {
		t.Fatal(err)
	}
}

// emptyDir is a volume as the kubelet makes one: anybody's, of the pod's group.
func emptyDir(t *testing.T, path string, user int64) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if isRoot() {
		if err := os.Chown(path, 0, int(user)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o777|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
}

func TestWhatThePodsStartServesAndEndsWithinTheGracePeriod(t *testing.T) {
	image, path := must(readImage())(t), must(program())(t)
	for _, one := range must(cases())(t) {
		t.Run(one.Name, func(t *testing.T) {
			onItsOwnMachine(t, func(t *testing.T, folder string) {
				text, _, err := render(one.Values)
				if err != nil {
					t.Fatal(err)
				}
				run(t, must(decode(text))(t), image, path, folder, Way{})
			})
		})
	}
}

func TestAClientThatTakesNothingIsCutWhenTheDrainIsOver(t *testing.T) {
	image, path := must(readImage())(t), must(program())(t)
	onItsOwnMachine(t, func(t *testing.T, folder string) {
		text, _, err := render(must(chartutil.ReadValues([]byte("drain: {drainSeconds: 2, marginSeconds: 40}")))(t))
		if err != nil {
			t.Fatal(err)
		}
		run(t, must(decode(text))(t), image, path, folder, Way{isStalled: true})
	})
}

// Pod is one that runs.
type Pod struct {
	t       *testing.T
	image   *Image
	root    *Root
	server  *core.Container
	env     map[string]string
	objects *Objects
	Way
	// hasEnded is true once the server is gone.
	hasEnded atomic.Bool
}

func run(t *testing.T, objects *Objects, image *Image, path, folder string, way Way) {
	spec := &objects.Deployments[0].Spec.Template.Spec
	pod := &Pod{t: t, image: image, server: &spec.Containers[0], objects: objects, Way: way}
	user := *spec.SecurityContext.RunAsUser
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	secrets := map[string]string{}
	if wanted := secret(pod.server, "SALVER_ADMIN_TOKEN"); wanted != nil {
		secrets[wanted.Name+"/"+wanted.Key] = token
	}
	pod.env = must(environment(image.Env, pod.server, secrets))(t)

	// Volumes: what the kubelet would put there.
	volume := func(name string) string { return filepath.Join(folder, "volumes", name) }
	page := "<p>The site.\n"
	var items []core.KeyToPath
	for _, one := range spec.Volumes {
		switch {
		case one.EmptyDir != nil:
			emptyDir(t, volume(one.Name), user)
		case one.ConfigMap != nil:
			items = one.ConfigMap.Items
			page = objects.ConfigMaps[0].Data["index.html"]
			try(configMapVolume(volume(one.Name), items, objects.ConfigMaps[0].Data, "2026_01_01"))
		case one.Image != nil || one.PersistentVolumeClaim != nil && pod.env["SALVER_STORE"] == "":
			writeSite(t, volume(one.Name), page)
		case one.PersistentVolumeClaim != nil:
			writeSite(t, filepath.Join(folder, "dist"), page)
			said, err := exec.Command(path, "deploy", filepath.Join(folder, "dist"), "--to", volume(one.Name)).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, said)
			}
		default:
			t.Fatalf("the volume %s is of no kind that is known", one.Name)
		}
	}
	mounts := func(root *Root, container *core.Container) {
		t.Helper()
		for _, mount := range container.VolumeMounts {
			try(root.mountAt(volume(mount.Name), mount.MountPath, mount.ReadOnly))
		}
		try(root.close())
		// The root is read-only, as it is there.
		if err := os.WriteFile(filepath.Join(root.path, "written"), nil, 0o644); err == nil {
			t.Fatal("the root can be written to")
		}
	}

	// Containers before the server, in images that have a shell, and a site or the program.
	var sidecar *exec.Cmd
	for number := range spec.InitContainers {
		one := &spec.InitContainers[number]
		root := must(newRoot(filepath.Join(folder, "root-"+one.Name), user))(t)
		try(root.addShell())
		try(root.mountAt(path, "/opt/salver", true))
		writeSite(t, filepath.Join(root.path, "dist"), page)
		env := must(environment(map[string]string{"PATH": "/opt:/usr/bin:/bin"}, one, nil))(t)
		if _, fetches := env["SITE_ARCHIVE"]; fetches {
			// What is fetched lies here, instead of at a host that the machine does not have.
			archive := filepath.Join(root.path, "site.tar.gz")
			said, err := exec.Command("tar", "-czf", archive, "-C", filepath.Join(root.path, "dist"), ".").CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			env["SITE_ARCHIVE"] = "file:///site.tar.gz"
		}
		mounts(root, one)
		process := root.command(slices.Concat(one.Command, one.Args), "/", env)
		var said bytes.Buffer
		process.Stdout, process.Stderr = &said, &said
		if one.RestartPolicy == nil {
			if err := process.Run(); err != nil {
				t.Fatalf("%s: %v: %s", one.Name, err, &said)
			}
			t.Logf("%s has run", one.Name)
			continue
		}
		try(process.Start())
		sidecar = process
		eventually(t, "the startup probe of "+one.Name, func() error {
			return root.command(one.StartupProbe.Exec.Command, "/", env).Run()
		})
		t.Logf("%s runs, and its startup probe says so", one.Name)
	}

	// The server, by the entry point of the image.
	pod.root = must(newRoot(filepath.Join(folder, "root"), user))(t)
	try(pod.root.addProgram(path, image.Entrypoint[0]))
	site := filepath.Join(pod.root.path, image.WorkDir)
	if len(spec.Volumes) == 0 {
		writeSite(t, site, page)
	} else {
		try(os.MkdirAll(site, 0o755))
	}
	mounts(pod.root, pod.server)
	words := slices.Concat(image.Entrypoint, pod.server.Args)
	env := maps.Clone(pod.env)
	if way.isByHand {
		for _, name := range byLimits {
			delete(env, name)
		}
	}
	process := pod.root.command(words, image.WorkDir, env)
	var said bytes.Buffer
	process.Stderr = &said
	limits := pod.server.Resources.Limits
	group, err := newCgroup(limits.Memory().Value(), limits.Cpu().MilliValue())
	switch {
	case err == nil:
		t.Cleanup(group.remove)
		try(group.within(process.Start))
		t.Logf("in a cgroup of %s and %s cores", limits.Memory(), limits.Cpu())
	case os.Getenv("SALVER_TESTS_SKIP_NOTHING") != "":
		t.Fatalf("no cgroup can be had: %v", err)
	case way.isByHand:
		t.Logf("SKIPPED, so not shown: what Salver takes of limits: no cgroup can be had: %v", err)
		return
	default:
		t.Logf("in no cgroup: %v", err)
		try(process.Start())
	}
	ended := make(chan error, 1)
	go func() {
		err := process.Wait()
		pod.hasEnded.Store(true)
		ended <- err
	}()
	t.Cleanup(func() {
		_ = process.Process.Kill()
		if t.Failed() {
			t.Logf("the server said:\n%s", &said)
		}
	})
	for name, probe := range map[string]*core.Probe{"startup": pod.server.StartupProbe, "readiness": pod.server.ReadinessProbe, "liveness": pod.server.LivenessProbe} {
		eventually(t, "the "+name+" probe", func() error {
			if pod.hasEnded.Load() {
				t.Fatal("the server has ended")
			}
			return pod.probe(probe)
		})
	}
	if isRoot() {
		status := string(must(os.ReadFile(fmt.Sprintf("/proc/%d/status", process.Process.Pid)))(t))
		if !strings.Contains(status, fmt.Sprintf("Uid:\t%d\t%d\t%d\t%d", user, user, user, user)) {
			t.Errorf("the server is another user: %s", status)
		}
	}

	url := fmt.Sprintf("http://127.0.0.1:%s/", pod.env["SALVER_PORT"])
	eventually(t, "the page", func() error { return asked(url, page) })
	pod.metrics()
	if items != nil {
		pod.configMapChanges(url, items, volume)
	}

	// The end: what is under way is finished, nobody new is taken, and the process is gone in time.
	var download *http.Response
	if items == nil {
		download = slowDownload(t, url+"big.bin")
	}
	before := time.Now()
	try(process.Process.Signal(syscall.SIGTERM))
	if download != nil {
		eventually(t, "the end is seen by the readiness probe", func() error {
			if pod.probe(pod.server.ReadinessProbe) == nil {
				return fmt.Errorf("it is ready still")
			}
			return nil
		})
		if err := pod.probe(pod.server.LivenessProbe); err != nil {
			t.Errorf("while it ends it is alive: %v", err)
		}
		if !way.isStalled {
			length, err := io.Copy(io.Discard, download.Body)
			if err != nil || length+1 != bigLength {
				t.Errorf("the answer under way ended after %d bytes: %v", length, err)
			}
		}
		defer download.Body.Close()
	}
	grace := time.Duration(*spec.TerminationGracePeriodSeconds)*time.Second - preStop(pod.server)
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(grace):
		t.Errorf("it has not ended %v after SIGTERM", grace)
	}
	if drain := must(time.ParseDuration(pod.env["SALVER_DRAIN"]))(t); way.isStalled && time.Since(before) < drain {
		t.Errorf("it has ended %v after SIGTERM, before the drain of %v was over", time.Since(before), drain)
	}
	t.Logf("%q: served, and ended %.1f s after SIGTERM, of %v", words, time.Since(before).Seconds(), grace)
	if text := said.String(); !way.isStalled && strings.Contains(text, "WARN") || strings.Contains(text, "not obeyed") {
		t.Errorf("the server warned:\n%s", &said)
	}
	if sidecar != nil {
		try(sidecar.Process.Signal(syscall.SIGTERM))
		if err := sidecar.Wait(); err != nil {
			t.Errorf("the sidecar ended with %v", err)
		}
	}
}

// configMapChanges has all files of the ConfigMap served, and followed when the kubelet replaces them.
func (pod *Pod) configMapChanges(url string, items []core.KeyToPath, volume func(string) string) {
	t := pod.t
	data := maps.Clone(pod.objects.ConfigMaps[0].Data)
	for _, item := range items {
		if item.Path == "404.html" {
			status, text, err := get(url+"nowhere", "")
			if err != nil || status != 404 || text != data[item.Key] {
				t.Errorf("the page of what is missing: %d %v %q", status, err, text)
			}
			continue
		}
		if err := asked(url+strings.TrimPrefix(item.Path, "index.html"), data[item.Key]); err != nil {
			t.Errorf("%s: %v", item.Path, err)
		}
	}
	if status, _, err := get(url+"..data/index.html", ""); err != nil || status != 404 {
		t.Errorf("what the kubelet calls ..data is shown: %d %v", status, err)
	}
	for key := range data {
		data[key] += "<!-- changed -->\n"
	}
	if err := configMapVolume(volume("site"), items, data, "2026_01_02"); err != nil {
		t.Fatal(err)
	}
	for _, item := range items {
		if item.Path != "404.html" {
			eventually(t, "another "+item.Path, func() error {
				return asked(url+strings.TrimPrefix(item.Path, "index.html"), data[item.Key])
			})
		}
	}
	t.Logf("%d files of the ConfigMap were followed over ..data", len(items))
}

func asked(url, wanted string) error {
	status, text, err := get(url, "")
	if err != nil || status != 200 || text != wanted {
		return fmt.Errorf("%s: %d %v %q", url, status, err, text)
	}
	return nil
}

// slowDownload begins an answer and takes one byte of it.
func slowDownload(t *testing.T, url string) *http.Response {
	t.Helper()
	response, err := http.Get(url)
	if err != nil || response.StatusCode != 200 {
		t.Fatalf("%s: %v %v", url, response, err)
	}
	if _, err := io.ReadFull(response.Body, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return response
}

// probe is what a kubelet does, which asks at the address of the pod.
func (pod *Pod) probe(probe *core.Probe) error {
	if probe.Exec != nil {
		said, err := pod.root.command(probe.Exec.Command, pod.image.WorkDir, pod.env).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%v: %s", err, said)
		}
		return nil
	}
	for _, port := range pod.server.Ports {
		if port.Name == probe.HTTPGet.Port.StrVal {
			status, text, err := get(fmt.Sprintf("http://127.0.0.1:%d%s", port.ContainerPort, probe.HTTPGet.Path), "")
			if err == nil && status != 200 {
				err = fmt.Errorf("%d: %s", status, text)
			}
			return err
		}
	}
	return fmt.Errorf("there is no port %s", probe.HTTPGet.Port.String())
}

func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	begun := time.Now()
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Since(begun) > patience {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// A control: a setting that is wrong has to keep the server from starting, or be said.
func TestAPodThatIsWrongDoesNotStart(t *testing.T) {
	image, path := must(readImage())(t), must(program())(t)
	for name, control := range map[string]struct{ variable, value, said string }{
		"a store beside the directory of the image": {"SALVER_STORE", "/store", "two things to show"},
		"a size of Kubernetes":                      {"SALVER_CACHE_SIZE", "lots", "not a size"},
		"an open listener without a token":          {"SALVER_ADMIN", "0.0.0.0:9191", "no token is set"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			onItsOwnMachine(t, func(t *testing.T, folder string) {
				root := must(newRoot(filepath.Join(folder, "root"), image.User))(t)
				if err := root.addProgram(path, image.Entrypoint[0]); err != nil {
					t.Fatal(err)
				}
				writeSite(t, filepath.Join(root.path, "site"), "<p>The site.\n")
				env := maps.Clone(image.Env)
				env[control.variable] = control.value
				said, err := root.command(image.Entrypoint, image.WorkDir, env).CombinedOutput()
				if err == nil || !strings.Contains(string(said), control.said) {
					t.Errorf("%v: %s", err, said)
				}
			})
		})
	}
}
