//! A real Redis for the second tier.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::answers;
use crate::container::Line;
use crate::process::Process;
use crate::sandbox::{Mounts, Sandbox};
use crate::sockets;

/// The ACL user with [`PASSWORD`], where there is a login.
pub const USER: &str = "cache";
/// Its password.
pub const PASSWORD: &str = "seen-by-nobody";
/// Password of the user `default`, which the test itself uses.
const ADMIN: &str = "admin";

/// A running `redis-server`; stopped on drop.
#[derive(Debug)]
pub struct Redis {
    _process: Process,
    /// Its port on 127.0.0.1.
    pub port: u16,
    login: bool,
}

/// The program on this host.
pub fn program() -> Option<&'static str> {
    let found = |program: &&str| Path::new(program).exists();
    [
        "/usr/bin/redis-server",
        "/usr/local/bin/redis-server",
        "/opt/homebrew/bin/redis-server",
    ]
    .into_iter()
    .find(found)
}

impl Redis {
    /// Starts one that keeps everything in memory, with or without a login.
    ///
    /// # Errors
    /// It is not installed or does not start.
    pub fn start(login: bool, folder: &Path) -> Result<Redis> {
        let program = program().context("redis-server is not installed")?;
        let port = sockets::free_port()?;
        let number = port.to_string();
        let mut argv = vec![
            program,
            "--port",
            &number,
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ];
        let password = format!(">{PASSWORD}");
        if login {
            argv.extend([
                "--requirepass",
                ADMIN,
                "--user",
                USER,
                "on",
                &password,
                "~*",
                "&*",
                "+@all",
            ]);
        }
        let line = Line {
            argv: argv.into_iter().map(str::to_owned).collect(),
            env: BTreeMap::from([("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned())]),
        };
        let log = folder.join(format!("redis-{port}.log"));
        let mut process = Process::start(&line, Sandbox::Bare, &Mounts::default(), folder, &log)?;
        process.open(port)?;
        Ok(Redis {
            _process: process,
            port,
            login,
        })
    }

    /// The connections of others, each by the name of its user. One that has not logged in counts as `default`.
    ///
    /// # Errors
    /// It does not answer.
    pub fn users(&self) -> Result<Vec<String>> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).context("Redis is gone")?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        let login = if self.login {
            format!("AUTH default {ADMIN}\r\n")
        } else {
            String::new()
        };
        write!(stream, "{login}CLIENT LIST\r\nQUIT\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).context("Redis does not answer")?;
        Ok(answers::redis_users(&answer).into_iter().map(str::to_owned).collect())
    }
}
