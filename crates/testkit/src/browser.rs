//! Chromium without a window, steered through chromedriver (W3C WebDriver).

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::machine::Slots;
use crate::process::signal;
use crate::require::require;
use crate::{Invocation, Running, Scratch, machine, procfs};

/// The line that chromedriver prints when it listens, and behind which the port is.
const READY: &str = "started successfully on port ";
/// Time limit of one command.
const PATIENCE: Duration = Duration::from_secs(60);
/// Options that keep the browser from starting anything unasked.
const QUIET: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
];

/// A browser; ended with its driver when dropped.
#[derive(Debug)]
pub struct Browser {
    driver: Running,
    port: u16,
    session: String,
    _profile: Scratch,
    _slot: Slots,
}

impl Browser {
    /// Starts one; `None` where it is not installed, which continuous integration must
    /// not lack.
    pub fn start() -> Option<Self> {
        let driver = Path::new("/usr/bin/chromedriver");
        let there = driver.exists() && Path::new("/usr/bin/chromium").exists();
        let how = "install chromium and chromium-driver";
        if !require(there, "Chromium with its driver", how) {
            return None;
        }
        let slot = machine::slot();
        let profile = Scratch::new();
        let driver = ready(driver, &profile);
        let said = driver.stdout();
        let port = said.split(READY).nth(1).expect("a port");
        let port: String = port.chars().take_while(char::is_ascii_digit).collect();
        let mut browser = Self {
            driver,
            port: port.parse().expect("a port"),
            session: String::new(),
            _profile: profile,
            _slot: slot,
        };
        browser.open();
        Some(browser)
    }

    fn open(&mut self) {
        let folder = self._profile.path().join("profile");
        let mut words: Vec<String> = QUIET.map(str::to_owned).to_vec();
        words.push(format!("--user-data-dir={}", folder.display()));
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
            "goog:chromeOptions": { "args": words },
        } } });
        let made = self.command("POST", "/session", &wanted);
        let session = made["sessionId"].as_str().expect("a session");
        self.session = format!("/session/{session}");
        // The page that a new window shows is none of ours.
        self.visit("about:blank");
        self.requests();
        self.console();
    }

    /// One command, whose answer is its value.
    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        let text = if method == "GET" {
            String::new()
        } else {
            body.to_string()
        };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("chromedriver");
        stream.set_read_timeout(Some(PATIENCE)).expect("a deadline");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            text.len()
        );
        stream.write_all(head.as_bytes()).expect("a request");
        stream.write_all(text.as_bytes()).expect("its body");
        let answer = answered(&mut stream);
        let answer: Value = serde_json::from_slice(&answer).expect("JSON of chromedriver");
        let value = &answer["value"];
        assert!(value.get("error").is_none(), "{method} {path}: {value}");
        value.clone()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.command("POST", &format!("{}{path}", self.session), body)
    }

    /// A command of the browser's own protocol.
    pub fn own(&self, name: &str, parameters: &Value) -> Value {
        self.post(
            "/goog/cdp/execute",
            &json!({ "cmd": name, "params": parameters }),
        )
    }

    /// Window and colours of the next page.
    pub fn screen(&self, width: u32, dark: bool) {
        let hand = width < 500;
        self.own(
            "Emulation.setDeviceMetricsOverride",
            &json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": hand }),
        );
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.own(
            "Emulation.setEmulatedMedia",
            &json!({ "features": features }),
        );
    }

    /// Opens a page and waits until it is there.
    pub fn visit(&self, address: &str) {
        self.post("/url", &json!({ "url": address }));
    }

    /// Value of a script.
    pub fn script(&self, text: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": text, "args": [] }))
    }

    /// Actions of one pointer, `mouse` or `touch`, in their order (W3C WebDriver, Actions). Moves
    /// are to pixels of the window. A button of the mouse may stay pressed until a later call; a
    /// finger that stays down is not lifted by one.
    pub fn pointer(&self, kind: &str, actions: &Value) {
        let parameters = json!({ "pointerType": kind });
        let source = json!({ "type": "pointer", "id": kind, "parameters": parameters,
            "actions": actions });
        self.post("/actions", &json!({ "actions": [source] }));
    }

    /// Gives the page the focus, whatever other windows this machine shows.
    pub fn focus(&self) {
        let command = "Emulation.setFocusEmulationEnabled";
        self.own(command, &json!({ "enabled": true }));
    }

    /// Presses a key and releases it. `code` is its virtual key code of Windows.
    pub fn press(&self, key: &str, code: u32) {
        for kind in ["rawKeyDown", "keyUp"] {
            let event =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            self.own("Input.dispatchKeyEvent", &event);
        }
    }

    /// Console messages since the last call.
    pub fn console(&self) -> Vec<String> {
        self.log("browser").iter().map(Value::to_string).collect()
    }

    /// The addresses of everything that was asked for since the last time.
    pub fn requests(&self) -> Vec<String> {
        let log = self.log("performance");
        let messages = log.iter().filter_map(|entry| {
            let message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
            let event = &message["message"];
            let asked = event["method"] == "Network.requestWillBeSent";
            asked.then(|| {
                event["params"]["request"]["url"]
                    .as_str()
                    .map(str::to_owned)
            })?
        });
        messages.collect()
    }

    fn log(&self, kind: &str) -> Vec<Value> {
        let log = self.post("/se/log", &json!({ "type": kind }));
        log.as_array().cloned().unwrap_or_default()
    }

    /// The whole page as PNG.
    pub fn picture(&self) -> Vec<u8> {
        let shot = self.own(
            "Page.captureScreenshot",
            &json!({ "format": "png", "captureBeyondViewport": true }),
        );
        base64(shot["data"].as_str().expect("a picture"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        for process in procfs::descendants(self.driver.pid()) {
            signal(process, "KILL");
        }
    }
}

/// A driver that listens. Its choice of a free port is not its own until it listens there, and
/// another program may be first.
fn ready(program: &Path, profile: &Scratch) -> Running {
    loop {
        let mut driver = Invocation::new(program)
            .args(["--port=0"])
            .env("HOME", profile.path())
            // Files that an ended browser leaves are removed with the profile.
            .env("TMPDIR", profile.path())
            .patience(Duration::from_secs(300))
            .spawn();
        if driver.prints(READY, PATIENCE) {
            return driver;
        }
        let said = driver.stderr();
        assert!(said.contains("Address already in use"), "{said}");
    }
}

/// The body of an answer.
fn answered(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 65_536];
    loop {
        let length = match stream.read(&mut chunk) {
            // A signal to another test of this process.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.expect("an answer in time"),
        };
        bytes.extend_from_slice(&chunk[..length]);
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let told = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:"));
            let told: usize = told
                .and_then(|told| told.trim().parse().ok())
                .expect("a length");
            if bytes.len() >= end + 4 + told {
                return bytes[end + 4..end + 4 + told].to_vec();
            }
        }
        assert!(length > 0, "the answer ends early");
    }
}

/// Bytes of base64 (RFC 4648).
fn base64(text: &str) -> Vec<u8> {
    BASE64_STANDARD.decode(text).expect("base64")
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_is_read_back() {
        assert_eq!(super::base64("aGVsbG8="), b"hello");
        assert_eq!(super::base64("AP/+"), [0, 0xff, 0xfe]);
    }
}
