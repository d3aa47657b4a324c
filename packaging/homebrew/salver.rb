# Builds Salver from the source of the clone that this lies in: brew install --HEAD packaging/homebrew/salver.rb
# A release puts `url` and `sha256` of its archive in the place of `head`.
class Salver < Formula
  desc "Static file server: fast, fresh and correct"
  homepage "https://docs.rs/salver"
  license any_of: ["MIT", "Apache-2.0"]
  head "file://#{File.expand_path("../..", __dir__)}", using: :git

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/salver")
    generate_completions_from_executable(bin/"salver", "completions")
    (man1/"salver.1").write Utils.safe_popen_read(bin/"salver", "man")
  end

  test do
    (testpath/"index.html").write "hello"
    port = free_port
    server = spawn bin/"salver", "serve", testpath.to_s, "--port", port.to_s
    begin
      answer = shell_output("curl --silent --retry 5 --retry-connrefused http://127.0.0.1:#{port}/")
      assert_equal "hello", answer
    ensure
      Process.kill "TERM", server
      Process.wait server
    end
  end
end
