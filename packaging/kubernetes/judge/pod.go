package kubernetes

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	core "k8s.io/api/core/v1"
)

// Root is the file system of a container, on a machine of its own: namespaces for mounts and the network.
type Root struct {
	path string
	user int64
}

// networkUp brings up the loopback device, which a new network namespace has down.
func networkUp() error {
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(socket)
	var request struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:], "lo")
	request.flags = syscall.IFF_UP
	_, _, failed := syscall.Syscall(syscall.SYS_IOCTL, uintptr(socket), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request)))
	if failed != 0 {
		return failed
	}
	return nil
}

// mountAt shows a directory or file at a path of the root.
func (root *Root) mountAt(from, at string, isReadOnly bool) error {
	to := filepath.Join(root.path, at)
	about, err := os.Stat(from)
	if err != nil {
		return err
	}
	if about.IsDir() {
		err = os.MkdirAll(to, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(to), 0o755); err == nil {
		err = os.WriteFile(to, nil, 0o644)
	}
	if err == nil {
		err = syscall.Mount(from, to, "", syscall.MS_BIND|syscall.MS_REC, "")
	}
	if err == nil && isReadOnly {
		err = remountReadOnly(to)
	}
	if err != nil {
		return fmt.Errorf("%s at %s: %w", from, at, err)
	}
	return nil
}

// remountReadOnly keeps what other flags a mount has, which a user without rights may not drop.
func remountReadOnly(path string) error {
	var about syscall.Statfs_t
	if err := syscall.Statfs(path, &about); err != nil {
		return err
	}
	kept := uintptr(about.Flags) & (syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC)
	const relatime = 0x1000
	if about.Flags&relatime != 0 {
		kept |= syscall.MS_RELATIME
	}
	return syscall.Mount("", path, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY|kept, "")
}

// newRoot begins a root at a path, a mount that closeRoot makes read-only.
func newRoot(path string, user int64) (*Root, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o755); err != nil {
		return nil, err
	}
	if err := syscall.Mount(path, path, "", syscall.MS_BIND, ""); err != nil {
		return nil, err
	}
	root := &Root{path: path, user: user}
	for _, one := range []string{"/dev", "/proc", "/sys"} {
		if err := root.mountAt(one, one, false); err != nil {
			return nil, err
		}
	}
	return root, nil
}

func (root *Root) close() error {
	return remountReadOnly(root.path)
}

// addProgram shows the program at a path, with the libraries of this machine where it is not static.
func (root *Root) addProgram(program, at string) error {
	if err := root.mountAt(program, at, true); err != nil {
		return err
	}
	said, err := exec.Command("ldd", program).Output()
	if err != nil {
		// A static program has none.
		return nil
	}
	for _, word := range strings.Fields(string(said)) {
		if !strings.HasPrefix(word, "/") {
			continue
		}
		if _, err := os.Lstat(filepath.Join(root.path, word)); err == nil {
			continue
		}
		if err := root.mountAt(word, word, true); err != nil {
			return err
		}
	}
	return nil
}

// addShell shows the programs of this machine: an image that has a shell.
func (root *Root) addShell() error {
	for _, one := range []string{"/usr", "/bin", "/lib", "/lib64"} {
		target, err := os.Readlink(one)
		if err == nil {
			err = os.Symlink(target, filepath.Join(root.path, one))
		} else if _, missing := os.Stat(one); missing == nil {
			err = root.mountAt(one, one, true)
		} else {
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// command is a process in the root, as the user of the pod where that can be.
func (root *Root) command(words []string, workDir string, env map[string]string) *exec.Cmd {
	process := exec.Command(words[0], words[1:]...)
	process.Dir = workDir
	process.Env = []string{}
	for name, value := range env {
		process.Env = append(process.Env, name+"="+value)
	}
	process.SysProcAttr = &syscall.SysProcAttr{
		Chroot: root.path,
		// The first process of its container: signals without a handler do nothing there, and with it all others end.
		Cloneflags: syscall.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	if isRoot() {
		user := uint32(root.user)
		process.SysProcAttr.Credential = &syscall.Credential{Uid: user, Gid: user, Groups: []uint32{user}}
	}
	return process
}

// isRoot is true for the root of the machine, who may become another user; that of a user namespace has one user alone.
func isRoot() bool {
	return os.Getenv("SALVER_JUDGE_WITHIN") == "root"
}

// environment returns the variables of a container, as a kubelet sets them: over those of its image.
func environment(image map[string]string, container *core.Container, secrets map[string]string) (map[string]string, error) {
	env := map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	for name, value := range image {
		env[name] = value
	}
	for _, one := range container.Env {
		field := resourceField(&one)
		switch {
		case one.ValueFrom == nil:
			env[one.Name] = one.Value
		case field != nil:
			// Begun cores count.
			env[one.Name] = strconv.FormatInt(container.Resources.Limits.Cpu().Value(), 10)
		case one.ValueFrom.SecretKeyRef != nil:
			env[one.Name] = secrets[one.ValueFrom.SecretKeyRef.Name+"/"+one.ValueFrom.SecretKeyRef.Key]
		}
		if _, known := env[one.Name]; !known {
			return nil, fmt.Errorf("%s: where it comes from is not known", one.Name)
		}
	}
	return env, nil
}

// configMapVolume lays out the files of a ConfigMap as a kubelet does, or replaces them: files in a directory of their own, to
// which ..data leads, and links to them through ..data; the switch is one rename.
func configMapVolume(folder string, items []core.KeyToPath, data map[string]string, version string) error {
	own := ".." + version
	for _, item := range items {
		path := filepath.Join(folder, own, item.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(data[item.Key]), 0o644); err != nil {
			return err
		}
	}
	before, _ := os.Readlink(filepath.Join(folder, "..data"))
	next := filepath.Join(folder, "..data_tmp")
	if err := os.Symlink(own, next); err != nil {
		return err
	}
	if err := os.Rename(next, filepath.Join(folder, "..data")); err != nil {
		return err
	}
	for _, item := range items {
		top, _, _ := strings.Cut(item.Path, "/")
		err := os.Symlink(filepath.Join("..data", top), filepath.Join(folder, top))
		if err != nil && !os.IsExist(err) {
			return err
		}
	}
	if before == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(folder, before))
}

// get asks over loopback, by a connection of its own.
func get(url, token string) (int, string, error) {
	request, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return 0, "", err
	}
	request.Close = true
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}
