//! SIGHUP: the key file and the file of settings are read again.

use std::path::Path;
use std::sync::Arc;

use netperf_cli::{LogLevel, NameForm, ServerArgs, ServerCommand};
use netperf_daemon::file_helper::{self, FileHelper};
use netperf_measure::clock;
use netperf_model::{KeyRing, Require};
use netperf_program::file_answers::FileCopies;
use netperf_program::key;

use super::AcceptLoop;

impl AcceptLoop {
    /// Opens the log file again. What the user of now may not open is opened by the process that
    /// has the user of the start.
    pub(super) fn reopen_log(&mut self) {
        let Err(error) = self.log.reopen() else {
            return;
        };
        match self.files.as_ref().map(FileHelper::ask_log) {
            Some(Ok(())) => {}
            Some(Err(_)) | None => self.log.reopened(Err(error)),
        }
    }

    /// Asks for the files. Without a process that reads them, as with a preloaded library, they
    /// are read here.
    pub(super) fn begin_reload(&mut self) {
        let files = self.files.as_mut().filter(|files| files.reads());
        match files.map(FileHelper::ask) {
            Some(Ok(())) => {}
            Some(Err(_)) => self.lose_files(),
            None => self.reload(FileCopies::new()),
        }
    }

    /// Takes the files that have arrived.
    pub(super) fn hear_files(&mut self) {
        let heard = self.files.as_mut().map(FileHelper::hear);
        if let Some(opened) = self.files.as_mut().and_then(FileHelper::take_log) {
            self.log.reopened(opened);
        }
        match heard {
            Some(Ok(Some(copies))) => self.reload(copies),
            Some(Ok(None)) | None => {}
            Some(Err(_)) => self.lose_files(),
        }
    }

    /// Gives up a reload whose files do not arrive.
    pub(super) fn end_slow_reload(&mut self) {
        let is_late = |files: &&mut FileHelper| {
            let until = files.until();
            until.is_some_and(|until| until <= clock::now())
        };
        let Some(files) = self.files.as_mut().filter(is_late) else {
            return;
        };
        let missing: Vec<String> = files.end().iter().map(|path| shown(path)).collect();
        let line = format!(
            "{} could not be read in time; settings and keys stay as they are",
            missing.join(" and ")
        );
        self.say_not_reloaded(line);
    }

    /// Handles the end of the process that reads files. Later reloads read them as this user.
    fn lose_files(&mut self) {
        if let Some(files) = self.files.take() {
            self.poller.remove(files.fd());
        }
        let line = "the process that reads files again (netserver-files) has ended; settings and \
                    keys stay as they are";
        self.say_not_reloaded(line.to_owned());
    }

    fn say_not_reloaded(&mut self, line: String) {
        let fields = [("error", line.into())];
        self.log.say(LogLevel::Error, "reload", &fields);
    }

    /// Replaces the access policy by that of the settings in these files. Invalid settings
    /// change nothing. Ports and the user never change.
    fn reload(&mut self, mut copies: FileCopies) {
        let read = |path: &Path| {
            let text = match copies.get(path) {
                Some(Ok(copy)) => copy.text.to_vec(),
                Some(Err(error)) => return Err(again(error)),
                None => file_helper::read(path)?.text.to_vec(),
            };
            String::from_utf8(text).map_err(|_| std::io::ErrorKind::InvalidData.into())
        };
        match netperf_cli::netserver(&self.argv, &read).command {
            Ok(ServerCommand::Serve(read)) => self.take(*read, &mut copies),
            // Other commands do not serve.
            Ok(
                ServerCommand::Usage(_) | ServerCommand::Version(_) | ServerCommand::FullVersion,
            ) => {}
            Err(error) => self.say_not_reloaded(error.to_string()),
        }
    }

    /// Applies the new settings, except those fixed at start.
    fn take(&mut self, mut read: ServerArgs, copies: &mut FileCopies) {
        // Keys that cannot be read again stay.
        let old = self.args.access.keys.clone();
        let copy = |path: &Path| {
            let copy = copies.remove(path);
            copy.unwrap_or_else(|| file_helper::read(path))
        };
        let mut keys_kept = false;
        read.access.keys = match key::load_again(read.access.key_file.as_deref(), copy) {
            Ok(keys) => keys.map(Arc::new).or(old),
            Err(line) => {
                let fields = [("error", line.into())];
                self.log.say(LogLevel::Error, "keys", &fields);
                keys_kept = true;
                old
            }
        };
        self.host.complete(&mut read);
        read.operations = std::mem::take(&mut self.args.operations);
        // Ports stay open.
        (read.iperf2, read.iperf3) = (self.args.iperf2.clone(), self.args.iperf3.clone());
        let error = if read.require() == Require::Key && read.access.keys.is_none() {
            Some("a key is required, but none is configured".to_owned())
        } else {
            read.open_to_iperf(NameForm::InFile)
        };
        if let Some(error) = error {
            self.args.operations = read.operations;
            return self.say_not_reloaded(error);
        }
        self.admission.change(read.policy());
        self.args = read;
        self.reloads += 1;
        self.end_without_key();
        self.end_workers();
        self.look_at_host();
        let keys = names(self.args.access.keys.as_deref());
        let mut fields = vec![("keys", keys.into())];
        if keys_kept {
            fields.push(("keys_kept", true.into()));
        }
        self.log.say(LogLevel::Info, "reloaded", &fields);
    }
}

/// Names of the keys, for the log.
fn names(keys: Option<&KeyRing>) -> String {
    let Some(keys) = keys else {
        return "none".to_owned();
    };
    let name = |name: &str| match name {
        "" => "without-name".to_owned(),
        name => name.to_owned(),
    };
    let names: Vec<String> = keys.keys().iter().map(|key| name(&key.name)).collect();
    names.join(",")
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// The same error once more.
fn again(error: &std::io::Error) -> std::io::Error {
    let number = error.raw_os_error();
    number.map_or_else(
        || std::io::Error::other(error.to_string()),
        std::io::Error::from_raw_os_error,
    )
}
